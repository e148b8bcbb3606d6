#include "host/overlay/overlay_service.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// More are not needed: one that lives is enough.
constexpr size_t kMostContacts = 16;
// Exchanges among the nodes of the process in one turn of the courier.
constexpr int kMostTurns = 16;

}  // namespace

OverlayService::OverlayService(ServiceThread& courier) : courier_(courier) {
  courier.add(kinds_of(Kind::overlay_first), *this);
}

void OverlayService::enter(NodeId node, uint64_t seed) {
  courier_.post([this, node, seed] {
    Place& place = places_[node];
    if (place.overlay) return;
    const double now = courier_.clock().now();
    place.overlay = std::make_unique<Overlay>(Overlay::Contact{node, courier_.process()}, seed, now);
    place.overlay->join(contacts_of(node, seed), now);
  });
}

// The first ones, whom all try, and some at random: a peer that enters early finds nobody in there yet, one that enters
// late finds it.
std::vector<Overlay::Contact> OverlayService::contacts_of(NodeId node, uint64_t seed) const {
  std::vector<Overlay::Contact> contacts;
  for (const Member& member : courier_.newest_membership()->workers()) {
    if (member.id != node) contacts.push_back({member.id, member.process});
  }
  Rng rng(seed, node);
  for (size_t i = kMostContacts / 2; i < std::min(kMostContacts, contacts.size()); ++i) {
    std::swap(contacts[i], contacts[i + rng.below(contacts.size() - i)]);
  }
  contacts.resize(std::min(kMostContacts, contacts.size()));
  return contacts;
}

void OverlayService::leave(NodeId node) {
  courier_.post([this, node] {
    const auto at = places_.find(node);
    if (at == places_.end()) return;
    at->second.overlay->leave(courier_.clock().now());
    send_all(*at->second.overlay);
    places_.erase(at);
  });
}

void OverlayService::with(NodeId node, std::function<void(Overlay*, double)> call) {
  courier_.post([this, node, call = std::move(call)] {
    const auto at = places_.find(node);
    if (at == places_.end()) return call(nullptr, courier_.clock().now());
    at->second.due = 0;
    call(at->second.overlay.get(), courier_.clock().now());
  });
}

void OverlayService::on_frame(Frame&& frame, double now) {
  Unpacker in(frame.meta.view());
  const auto envelope = unpack_head<Envelope>(in);
  if (!envelope.ok()) {
    courier_.distrust(frame.src, frame.kind, malformed(frame, envelope.error().message));
    return;
  }
  const auto at = places_.find(envelope->to);
  if (at == places_.end()) return;  // it has not entered, or has left: the sender goes on without an answer
  at->second.due = 0;
  const Status taken = at->second.overlay->on_frame(frame, now);
  if (!taken.ok()) courier_.distrust(frame.src, frame.kind, taken.error());
}

void OverlayService::on_membership(const MembershipPtr& membership, double now) {
  if (membership_) {
    for (const ProcessInfo& info : membership_->processes()) {
      if (membership->process(info.process) != nullptr) continue;
      for (auto& [node, place] : places_) {
        place.overlay->lose_process(info.process, now);
        place.due = 0;
      }
    }
  }
  membership_ = membership;
}

// Frames within the process need neither the transport nor another turn of the courier.
void OverlayService::send_all(Overlay& overlay) {
  for (Frame& frame : overlay.take_frames()) {
    if (frame.dst == courier_.address()) {
      local_.push_back(std::move(frame));
    } else {
      courier_.send(std::move(frame));
    }
  }
}

void OverlayService::take_local(double now) {
  while (!local_.empty()) {
    Frame frame = std::move(local_.front());
    local_.pop_front();
    on_frame(std::move(frame), now);
  }
}

double OverlayService::tick(double now) {
  double next = kForever;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    next = kForever;
    for (auto& [node, place] : places_) {
      if (place.due <= now) {
        place.due = place.overlay->tick(now);
        send_all(*place.overlay);
      }
      next = std::min(next, place.due);
    }
    if (local_.empty()) return next;
    take_local(now);
  }
  return now;  // the courier's other tasks have waited long enough
}

}  // namespace actorhost
