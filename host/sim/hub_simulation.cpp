#include "host/sim/hub_simulation.hpp"

#include <algorithm>
#include <cmath>

namespace actorhost {

HubSimulation::HubSimulation(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch)
    : scenario_(scenario),
      watch_(watch),
      direct_(scenario.topology.kind == Topology::Kind::oracle && scenario.delay.zero() && scenario.loss == 0 &&
              scenario.replay == nullptr),
      work_(scenario),
      record_(scenario),
      admission_(admission(record_.clocks())),
      shard_in_(scenario.topology.shards, 0),
      shard_out_(scenario.topology.shards, 0),
      churn_(sim_seed(scenario.seed, SimStream::churn)) {}

// --- nodes join and leave ---

void HubSimulation::populate() {
  if (scenario_.replay != nullptr) {
    // Adds nodes in the order of joining, so that a node's id is its index in that order.
    for (const Replay::Node& node : scenario_.replay->nodes) {
      if (node.joins > 0) {
        push(node.joins, 0, Kind::joins);
      } else {
        add_node(0, false);
      }
    }
  } else {
    for (uint32_t i = 0; i < scenario_.nodes; ++i) add_node(0, false);
  }
  for (NodeId id = 0; id < record_.ids(); ++id) begin(id, 0);
  if (scenario_.churn.joins > 0) push(churn_.exponential(1 / scenario_.churn.joins), 0, Kind::joins);
  if (scenario_.churn.leaves > 0) push(churn_.exponential(1 / scenario_.churn.leaves), 0, Kind::leaves);
}

NodeId HubSimulation::add_node(double now, bool starts) {
  const Clocks& clocks = record_.clocks();
  const NodeId id = record_.add(clocks.size() > 0 ? clocks.min() : 0, now);
  parts_.push_back(0);
  admission_->joined(id);
  if (scenario_.failures.mean_life > 0) {
    StepRng rng(sim_seed(scenario_.seed, SimStream::life), id, 0);
    push(now + rng.exponential(scenario_.failures.mean_life), id, Kind::crashes);
  }
  if (scenario_.replay != nullptr && id < scenario_.replay->nodes.size()) {
    const double leaves = scenario_.replay->nodes[id].leaves;
    if (leaves > now) push(leaves, id, Kind::departs);
  }
  if (starts) begin(id, now);
  return id;
}

void HubSimulation::remove(NodeId id, double now, bool crashed) {
  record_.remove(id, now);
  admission_->left(id);
  if (!crashed) ++record_.result().departed;
}

// --- a step ---

// Begins a node's first step with the current model.
void HubSimulation::begin(NodeId id, double now) {
  if (admission_->decides_first_step()) return admission_->requested(id, now);
  admission_->started(id, now, record_.node(id).version);
  record_.pull(id, now);
  start(id, now);
}

void HubSimulation::start(NodeId id, double now) {
  const uint32_t step = record_.start(id, now);
  push(now + work_.work(id, step, now), id, Kind::finished);
}

void HubSimulation::finish(NodeId id, double now) {
  record_.finish_work(id, now);
  if (direct_) {
    ++record_.result().messages;
    return apply(id, now);
  }
  record_.enter(id, State::travelling, now);
  if (scenario_.replay != nullptr) {
    ++record_.result().messages;
    return push(now + work_.network(id), id, Kind::merged);
  }
  send(id, now, Kind::arrived, 0);
}

// Sends a message of the node's current step in one part for each shard: to the hub (direction 0) or from it (1).
void HubSimulation::send(NodeId id, double now, Kind kind, uint32_t direction) {
  const uint32_t step = record_.node(id).started;
  SimResult& result = record_.result();
  StepRng rng(sim_seed(scenario_.seed, SimStream::delay), id, 2 * uint64_t{step} + direction);
  const Topology& topology = scenario_.topology;
  const bool server = topology.kind == Topology::Kind::server;
  parts_[id] = topology.shards;
  for (uint32_t shard = 0; shard < topology.shards; ++shard) {
    double leaves = now;
    if (server && direction == 1 && topology.bandwidth > 0) {
      double& free = shard_out_[shard];
      leaves = free = std::max(free, now) + topology.bytes / topology.shards / topology.bandwidth;
    }
    ++result.messages;
    while (scenario_.loss > 0 && rng.uniform() < scenario_.loss) {
      ++result.messages;
      ++result.lost;
      leaves += scenario_.retry;
    }
    const auto tag = static_cast<uint32_t>(kind) | shard << 8;
    queue_.push(leaves + scenario_.delay.draw(rng), id, tag);
  }
}

double HubSimulation::service_time(StepRng& rng) {
  const Topology& topology = scenario_.topology;
  const double transfer = topology.bandwidth > 0 ? topology.bytes / topology.shards / topology.bandwidth : 0;
  return transfer + topology.service.draw(rng);
}

// All parts have arrived: counts the step, and the node requests the next step.
void HubSimulation::apply(NodeId id, double now) {
  record_.apply(id, now);
  admission_->completed(id, now);
}

void HubSimulation::release(NodeId id, double now) {
  record_.pull(id, now);
  if (record_.node(id).started == 0) return start(id, now);  // a first step takes the model without a message
  if (direct_ || scenario_.replay != nullptr) {
    ++record_.result().messages;
    return start(id, now);
  }
  record_.enter(id, State::travelling, now);
  send(id, now, Kind::released, 1);
}

// --- the run ---

void HubSimulation::handle(const SimEvent& event) {
  const auto kind = static_cast<Kind>(event.tag & 0xff);
  const NodeId id = event.node;
  const double now = event.time;
  if (kind >= Kind::joins) return handle_membership(event, kind);
  const State state = record_.node(id).state;
  if (state == State::departed || (state == State::down && kind != Kind::arrived && kind != Kind::merged)) return;
  switch (kind) {
    case Kind::finished: return finish(id, now);
    case Kind::arrived: {
      if (scenario_.topology.kind == Topology::Kind::server) {
        const uint32_t shard = event.tag >> 8;
        StepRng rng(sim_seed(scenario_.seed, SimStream::delay), id,
                    (uint64_t{1} << 40) + record_.node(id).started * 256ULL + shard);
        double& free = shard_in_[shard];
        free = std::max(free, now) + service_time(rng);
        return push(free, id, Kind::merged);
      }
      [[fallthrough]];
    }
    case Kind::merged:
      if (parts_[id] > 1) {
        --parts_[id];
      } else {
        apply(id, now);
      }
      return;
    case Kind::released:
      if (--parts_[id] == 0) start(id, now);
      return;
    default: return;
  }
}

void HubSimulation::handle_membership(const SimEvent& event, Kind kind) {
  const NodeId id = event.node;
  const double now = event.time;
  SimResult& result = record_.result();
  const Clocks& clocks = record_.clocks();
  const bool is_member = kind >= Kind::departs && kind < Kind::returns && record_.node(id).state != State::departed;
  switch (kind) {
    case Kind::joins:
      ++result.joined;
      add_node(now, true);
      if (scenario_.replay == nullptr) push(now + churn_.exponential(1 / scenario_.churn.joins), 0, Kind::joins);
      return;
    case Kind::leaves:
      if (clocks.size() > 0) remove(clocks.live()[churn_.below(clocks.size())], now, false);
      return push(now + churn_.exponential(1 / scenario_.churn.leaves), 0, Kind::leaves);
    case Kind::departs:
      if (is_member) remove(id, now, false);
      return;
    case Kind::crashes:
      if (!is_member) return;
      ++result.crashed;
      record_.enter(id, State::down, now);
      push(now + scenario_.failures.detect / 2, id, Kind::suspected);
      push(now + scenario_.failures.detect, id, Kind::missed);
      if (scenario_.failures.repair > 0) push(now + scenario_.failures.repair, id, Kind::returns);
      return;
    case Kind::suspected:
      if (is_member) admission_->suspected(id, true);
      return;
    case Kind::missed:
      if (is_member) remove(id, now, true);
      return;
    case Kind::returns:
      ++result.joined;
      add_node(now, true);
      return;
    default: return;
  }
}

Status HubSimulation::decide(double now) {
  passed_.clear();
  AH_TRY(admission_->decide(now, passed_));
  for (const NodeId id : passed_) {
    // Until the hub detects a crash, it sends the crashed node the model and counts its step as begun.
    admission_->started(id, now, record_.result().updates);
    if (record_.node(id).state == State::waiting) release(id, now);
  }
  if (!passed_.empty()) record_.result().last_progress = now;
  return {};
}

// Pops the next event, and prefetches the node of the event after it. With many nodes, each event would otherwise wait
// for memory.
SimEvent HubSimulation::take_event() {
  const SimEvent event = queue_.pop();
  if (!queue_.empty() && queue_.next_node() < record_.ids()) record_.fetch(queue_.next_node());
  return event;
}

Result<SimResult> HubSimulation::run() {
  populate();
  if (admission_->waiting() > 0) AH_TRY(decide(0));
  for (uint64_t events = 0;; ++events) {
    const double event = queue_.next_time();
    const double next = std::min(event, admission_->next_time());
    if (!(next <= scenario_.seconds)) {
      if (std::isinf(next) && admission_->waiting() > 0) {
        return record_.deadlock(now_, "no node works and no re-check is due");
      }
      break;
    }
    record_.record_progress(next);
    now_ = next;
    if (event <= next) handle(take_event());
    AH_TRY(decide(next));
    if (watch_ != nullptr && events % SimWatch::kEvery == 0) AH_TRY(watch_->poll(next));
  }
  if (record_.clocks().size() > 0) now_ = scenario_.seconds;
  record_.record_progress(scenario_.seconds);
  record_.result().checks = admission_->checks();
  return record_.finish(now_);
}

Result<SimResult> simulate_hub(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch) {
  return HubSimulation(scenario, admission, watch).run();
}

}  // namespace actorhost
