#include "host/engine/peer/peer_service.hpp"

#include <algorithm>

namespace actorhost {

namespace {

// More are not needed: one that lives is enough.
constexpr size_t kMostContacts = 16;

}  // namespace

PeerService::PeerService(ServiceThread& courier) : courier_(courier) {
  courier.add(kinds_of(Kind::overlay_first), *this);
  courier.add(kinds_of(Kind::peer_first), *this);
}

void PeerService::enter(NodeId node, uint64_t seed) {
  courier_.post([this, node, seed] {
    auto& peer = peers_[node];
    if (peer) return;
    const double now = courier_.clock().now();
    peer = std::make_unique<PeerNode>(Overlay::Contact{node, courier_.process()}, seed, now);
    peer->overlay.join(contacts_of(node, seed), now);
  });
}

// The first ones, whom all try, and some at random: a peer that enters early finds nobody in there yet, one that enters
// late finds it.
std::vector<Overlay::Contact> PeerService::contacts_of(NodeId node, uint64_t seed) const {
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

void PeerService::leave(NodeId node) {
  courier_.post([this, node] {
    const auto at = peers_.find(node);
    if (at == peers_.end()) return;
    at->second->overlay.leave(courier_.clock().now());
    send_all(*at->second);
    peers_.erase(at);
  });
}

void PeerService::with(NodeId node, std::function<void(PeerNode*, double)> call) {
  courier_.post([this, node, call = std::move(call)] {
    const auto at = peers_.find(node);
    call(at == peers_.end() ? nullptr : at->second.get(), courier_.clock().now());
  });
}

void PeerService::on_frame(Frame&& frame, double now) {
  Unpacker in(frame.meta.view());
  const auto envelope = unpack_head<Envelope>(in);
  if (!envelope.ok()) {
    courier_.distrust(frame.src, frame.kind, malformed(frame, envelope.error().message));
    return;
  }
  const auto at = peers_.find(envelope->to);
  if (at == peers_.end()) return;  // it has not entered, or has left: the sender goes on without an answer
  const Address from = frame.src;
  const Kind kind = frame.kind;
  const bool of_overlay = within(kind, kinds_of(Kind::overlay_first));
  const Status taken =
      of_overlay ? at->second->overlay.on_frame(frame, now) : at->second->keys.on_frame(std::move(frame), now);
  if (!taken.ok()) courier_.distrust(from, kind, taken.error());
}

void PeerService::on_membership(const MembershipPtr& membership, double now) {
  if (membership_) {
    for (const ProcessInfo& info : membership_->processes()) {
      if (membership->process(info.process) != nullptr) continue;
      for (const auto& [node, peer] : peers_) {
        peer->overlay.lose_process(info.process, now);
        peer->keys.lose_process(info.process, now);
      }
    }
  }
  membership_ = membership;
}

void PeerService::send_all(PeerNode& peer) {
  for (Frame& frame : peer.overlay.take_frames()) courier_.send(std::move(frame));
  for (Frame& frame : peer.keys.take_frames()) courier_.send(std::move(frame));
}

double PeerService::tick(double now) {
  double next = kForever;
  for (const auto& [node, peer] : peers_) {
    next = std::min({next, peer->overlay.tick(now), peer->keys.tick(now)});
    send_all(*peer);
  }
  return next;
}

}  // namespace actorhost
