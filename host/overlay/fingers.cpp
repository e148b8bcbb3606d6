#include "host/overlay/fingers.hpp"

#include <algorithm>
#include <bit>

namespace actorhost {

std::optional<RingId> Fingers::next_key(uint64_t list_span, bool missing) noexcept {
  const auto lowest = static_cast<int>(std::bit_width(list_span));
  for (int i = lowest; i < 64; ++i) {
    turn_ = turn_ <= lowest ? 63 : turn_ - 1;
    if (!missing || !fingers_[static_cast<size_t>(turn_)]) return self_ + (RingId{1} << turn_);
  }
  return std::nullopt;
}

void Fingers::set(RingId key, const Peer& owner) noexcept {
  fingers_[static_cast<size_t>(std::bit_width(key - self_) - 1)] = owner;
}

void Fingers::offer(const Peer& peer) noexcept {
  if (peer.id == self_) return;
  auto& finger = fingers_[static_cast<size_t>(std::bit_width(peer.id - self_) - 1)];
  if (!finger) finger = peer;
}

void Fingers::erase(NodeId node) noexcept {
  for (auto& finger : fingers_) {
    if (finger && finger->node == node) finger.reset();
  }
}

std::vector<Peer> Fingers::all() const {
  std::vector<Peer> peers;
  for (const auto& finger : fingers_) {
    if (finger && (peers.empty() || peers.back().node != finger->node)) peers.push_back(*finger);
  }
  return peers;
}

std::vector<Peer> Fingers::closest_before(RingId key, const Neighbourhood& near, size_t count) const {
  std::vector<Peer> peers;
  const auto consider = [&](const Peer& peer) {
    if (key - peer.id >= key - self_) return;
    const auto at = std::lower_bound(peers.begin(), peers.end(), peer,
                                     [&](const Peer& a, const Peer& b) { return key - a.id < key - b.id; });
    if (at != peers.end() && at->node == peer.node) return;
    peers.insert(at, peer);
    if (peers.size() > count) peers.pop_back();
  };
  for (const Peer& peer : near.lists().before.peers) consider(peer);
  for (const Peer& peer : near.lists().after.peers) consider(peer);
  for (const auto& finger : fingers_) {
    if (finger) consider(*finger);
  }
  return peers;
}

}  // namespace actorhost
