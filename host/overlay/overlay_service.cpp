#include "host/overlay/overlay_service.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// More are not needed: one that lives is enough.
constexpr size_t kMostContacts = 16;

}  // namespace

OverlayService::OverlayService(ServiceThread& courier) : courier_(courier) {
  courier.add(kinds_of(Kind::overlay_first), *this);
}

void OverlayService::enter(NodeId node, uint64_t seed) {
  courier_.outlive_head();
  courier_.post([this, node, seed] {
    auto& overlay = overlays_[node];
    if (overlay) return;
    const double now = courier_.clock().now();
    overlay = std::make_unique<Overlay>(Overlay::Contact{node, courier_.process()}, seed, now);
    overlay->join(contacts_of(node, seed), now);
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
    const auto at = overlays_.find(node);
    if (at == overlays_.end()) return;
    at->second->leave(courier_.clock().now());
    for (Frame& frame : at->second->take_frames()) courier_.send(std::move(frame));
    overlays_.erase(at);
  });
}

void OverlayService::with(NodeId node, std::function<void(Overlay*, double)> call) {
  courier_.post([this, node, call = std::move(call)] {
    const auto at = overlays_.find(node);
    call(at == overlays_.end() ? nullptr : at->second.get(), courier_.clock().now());
  });
}

void OverlayService::on_frame(Frame&& frame, double now) {
  Unpacker in(frame.meta.view());
  const auto envelope = unpack_head<Envelope>(in);
  if (!envelope.ok()) {
    courier_.distrust(frame.src, frame.kind, malformed(frame, envelope.error().message));
    return;
  }
  const auto at = overlays_.find(envelope->to);
  if (at == overlays_.end()) return;  // it has not entered, or has left: the sender goes on without an answer
  const Status taken = at->second->on_frame(frame, now);
  if (!taken.ok()) courier_.distrust(frame.src, frame.kind, taken.error());
}

void OverlayService::on_membership(const MembershipPtr& membership, double now) {
  if (membership_) {
    for (const ProcessInfo& info : membership_->processes()) {
      if (membership->process(info.process) != nullptr) continue;
      for (const auto& [node, overlay] : overlays_) overlay->lose_process(info.process, now);
    }
  }
  membership_ = membership;
}

double OverlayService::tick(double now) {
  double next = kForever;
  for (const auto& [node, overlay] : overlays_) {
    next = std::min(next, overlay->tick(now));
    for (Frame& frame : overlay->take_frames()) courier_.send(std::move(frame));
  }
  return next;
}

}  // namespace actorhost
