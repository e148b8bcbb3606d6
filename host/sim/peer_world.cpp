#include "host/sim/peer_world.hpp"

#include <algorithm>

namespace actorhost {

int32_t PeerProtocol::first_step() const { return world_.clocks().size() > 0 ? world_.clocks().min() : 0; }

void PeerProtocol::begins(NodeId id, double now) { world_.start(id, now); }

PeerWorld::PeerWorld(const Scenario& scenario, PeerRule& rule)
    : scenario_(scenario),
      rule_(rule),
      record_(scenario),
      work_(scenario),
      network_(sim_seed(scenario.seed, SimStream::delay)) {}

PeerState PeerWorld::state(NodeId id) const noexcept {
  const Pace& pace = paces_[id];
  const bool works = record_.node(id).state == State::working;
  return {{clocks().step(id), works, pace.begun, pace.duration, pace.average}, id};
}

// --- messages ---

bool PeerWorld::try_send(double& time) {
  ++record_.result().messages;
  if (scenario_.loss > 0 && network_.uniform() < scenario_.loss) {
    ++record_.result().lost;
    return false;
  }
  time += scenario_.delay.draw(network_);
  return true;
}

double PeerWorld::send(double now) {
  double time = now;
  while (!try_send(time)) time += scenario_.retry;
  return time;
}

void PeerWorld::deliver(double time, double now, const PeerMessage& message) {
  if (time <= now) return protocol_->arrived(message, now);
  uint32_t place = 0;
  if (free_.empty()) {
    place = static_cast<uint32_t>(messages_.size());
    messages_.push_back(message);
  } else {
    place = free_.back();
    free_.pop_back();
    messages_[place] = message;
  }
  queue_.push(time, place, kMessage);
}

// --- steps ---

std::optional<double> PeerWorld::decide(NodeId id, std::span<const PeerState> seen, int32_t lowest, double now) {
  Decision decision;
  if (failure_.ok()) {
    ++record_.result().checks;
    const PeerView view{state(id), paces_[id].requested_at, now, clocks().size(), seen, lowest};
    failure_ = rule_.decide(view, decision);
  }
  if (failure_.ok() && decision.pass) {
    start(id, now);
    return std::nullopt;
  }
  record_.enter(id, State::waiting, now);
  return std::max(decision.recheck_seconds, Waiting::kMinRecheck);
}

NodeId PeerWorld::add(int32_t step, double now) {
  paces_.push_back({now, 0, 0, 0});
  return record_.add(step, now);
}

void PeerWorld::start(NodeId id, double now) {
  record_.pull(id, now);  // it continues with the current model
  paces_[id].begun = now;
  const uint32_t step = record_.start(id, now);
  queue_.push(now + work_.work(id, step, now), id, kFinished);
}

void PeerWorld::handle(const SimEvent& event) {
  switch (event.tag) {
    case kMessage: {
      const PeerMessage message = messages_[event.node];
      free_.push_back(event.node);
      return protocol_->arrived(message, event.time);
    }
    case kWake:
      if (held(event.node)) protocol_->woken(event.node, event.time);
      return;
    default:
      if (record_.node(event.node).state != State::working) return;  // it has crashed or left
      complete(event.node, event.time);
      protocol_->completed(event.node, event.time);
  }
}

// All other nodes see the update at once.
void PeerWorld::complete(NodeId id, double now) {
  record_.finish_work(id, now);
  record_.apply(id, now);
  Pace& pace = paces_[id];
  pace.requested_at = now;
  pace.duration = now - pace.begun;
  pace.average = Progress::averaged(pace.average, pace.duration);
}

}  // namespace actorhost
