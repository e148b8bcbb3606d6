#include "host/overlay/neighbourhood.hpp"

#include <algorithm>

namespace actorhost {

namespace {

bool holds(const std::vector<Peer>& peers, NodeId node) noexcept {
  return std::any_of(peers.begin(), peers.end(), [&](const Peer& p) { return p.node == node; });
}

bool holds(const Window& window, NodeId node) noexcept {
  return holds(window.before.peers, node) || holds(window.after.peers, node);
}

/// `distance` of a peer tells its place. A side with too many peers ends at the last that it keeps.
template <typename Distance>
void place_on(Side& side, const Peer& peer, Distance distance) {
  if (distance(peer) > side.span) return;
  const auto at = std::lower_bound(side.peers.begin(), side.peers.end(), peer,
                                   [&](const Peer& a, const Peer& b) { return distance(a) < distance(b); });
  if (at != side.peers.end() && at->id == peer.id) {
    // Two nodes with one id: the other one will take another.
    if (peer.node < at->node) *at = peer;
    return;
  }
  side.peers.insert(at, peer);
  if (side.peers.size() <= kReach) return;
  side.peers.pop_back();
  side.span = distance(side.peers.back());
}

template <typename Distance>
void narrow_side(Side& side, uint64_t span, Distance distance) {
  if (span >= side.span) return;
  // The nearest peer is the last that is given up: without it nobody knows what the node owns.
  while (side.peers.size() > 1 && distance(side.peers.back()) > span) side.peers.pop_back();
  side.span = side.peers.empty() ? span : std::max(span, distance(side.peers.back()));
}

template <typename Distance>
bool side_is_sound(const Peer& of, const Side& side, Distance distance) noexcept {
  if (side.peers.size() > kReach) return false;
  uint64_t last = 0;
  for (const Peer& peer : side.peers) {
    if (peer.node == of.node || distance(peer) <= last || distance(peer) > side.span) return false;
    last = distance(peer);
  }
  return true;
}

auto clockwise(RingId from) noexcept {
  return [from](const Peer& peer) { return peer.id - from; };
}
auto against(RingId from) noexcept {
  return [from](const Peer& peer) { return from - peer.id; };
}

}  // namespace

bool Neighbourhood::sound(const Peer& of, const Window& window) noexcept {
  return side_is_sound(of, window.before, against(of.id)) && side_is_sound(of, window.after, clockwise(of.id));
}

bool Neighbourhood::knows(NodeId node) const noexcept { return holds(window_, node); }

std::vector<Peer> Neighbourhood::all() const {
  std::vector<Peer> peers = window_.after.peers;
  for (const Peer& peer : window_.before.peers) {
    if (!holds(window_.after.peers, peer.node)) peers.push_back(peer);
  }
  return peers;
}

bool Neighbourhood::owns(RingId key) const noexcept {
  const Side& before = window_.before;
  if (alone() && whole()) return true;
  return self_.id - key < (before.peers.empty() ? before.span : self_.id - before.peers.front().id);
}

Peer Neighbourhood::owner_of(RingId key) const noexcept {
  Peer owner = self_;
  for (const Side* side : {&window_.after, &window_.before}) {
    for (const Peer& peer : side->peers) {
      if (peer.id - key < owner.id - key) owner = peer;
    }
  }
  return owner;
}

void Neighbourhood::place(const Peer& peer) {
  place_on(window_.after, peer, clockwise(self_.id));
  place_on(window_.before, peer, against(self_.id));
}

bool Neighbourhood::erase(NodeId node) {
  const auto from = [&](Side& side) {
    return std::erase_if(side.peers, [&](const Peer& peer) { return peer.node == node; }) > 0;
  };
  const bool before = from(window_.before);
  return from(window_.after) || before;
}

std::vector<Peer> Neighbourhood::merge(const Peer& of, const Window& theirs,
                                       const std::function<bool(const Peer&)>& believed) {
  std::vector<Peer> fresh;
  const auto look = [&](const Peer& peer) {
    if (peer.node == self_.node || peer.id == self_.id || !covers(peer.id)) return;
    if (!knows(peer.node) && !holds(fresh, peer.node) && believed(peer)) fresh.push_back(peer);
  };
  look(of);
  for (const Side* side : {&theirs.before, &theirs.after}) {
    for (const Peer& peer : side->peers) look(peer);
  }
  const bool see_me = covers(of.id, theirs, self_.id);
  const bool others = fresh.size() > 1 || (!fresh.empty() && fresh.front().node != of.node);
  if (!see_me) {
    if (others) stop_short(of.id, theirs);
    return {};
  }
  if (!fresh.empty()) {
    for (const Peer& peer : fresh) place(peer);
    // One that comes alone is a joiner; several may be of a ring that nobody here has known.
    if (others) narrow(of.id, theirs);
    return fresh;
  }
  bool agree = true;
  for (const Side* side : {&window_.before, &window_.after}) {
    for (const Peer& peer : side->peers) {
      agree = agree && (peer.node == of.node || !covers(of.id, theirs, peer.id) || holds(theirs, peer.node));
    }
  }
  if (!agree) return {};
  const std::vector<Peer> old = all();
  extend(of, theirs, believed);
  std::vector<Peer> more = all();
  std::erase_if(more, [&](const Peer& peer) { return holds(old, peer.node); });
  return more;
}

void Neighbourhood::narrow(RingId centre, const Window& theirs) {
  if (covers_all(theirs)) return;
  narrow_side(window_.after, centre + theirs.after.span - self_.id, clockwise(self_.id));
  narrow_side(window_.before, self_.id - (centre - theirs.before.span), against(self_.id));
}

// There are peers in the span that were not known, and the other one cannot tell what lies between.
void Neighbourhood::stop_short(RingId centre, const Window& theirs) {
  narrow_side(window_.after, centre - theirs.before.span - self_.id - 1, clockwise(self_.id));
  narrow_side(window_.before, self_.id - (centre + theirs.after.span) - 1, against(self_.id));
}

void Neighbourhood::extend(const Peer& of, const Window& theirs, const std::function<bool(const Peer&)>& believed) {
  const RingId centre = of.id;
  const bool all = covers_all(theirs);
  const uint64_t ahead = all ? kCircle : centre + theirs.after.span - self_.id;
  const uint64_t behind = all ? kCircle : self_.id - (centre - theirs.before.span);
  std::vector<Peer> beyond;
  const auto look = [&](const Peer& peer) {
    if (!covers(peer.id) && !holds(beyond, peer.node) && believed(peer)) beyond.push_back(peer);
  };
  look(of);
  for (const Side* side : {&theirs.before, &theirs.after}) {
    for (const Peer& peer : side->peers) look(peer);
  }
  const auto grow = [&](Side& side, uint64_t span, auto distance) {
    if (side.peers.size() >= kReach || span <= side.span) return;
    side.span = span;
    for (const Peer& peer : beyond) {
      if (!holds(side.peers, peer.node)) place_on(side, peer, distance);
    }
    // Peers that only the other side held so far.
    for (const Peer& peer : (&side == &window_.after ? window_.before : window_.after).peers) {
      if (!holds(side.peers, peer.node)) place_on(side, peer, distance);
    }
  };
  grow(window_.after, ahead, clockwise(self_.id));
  grow(window_.before, behind, against(self_.id));
}

}  // namespace actorhost
