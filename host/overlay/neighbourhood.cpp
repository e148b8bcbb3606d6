#include "host/overlay/neighbourhood.hpp"

#include <algorithm>

namespace actorhost {

namespace {

bool holds(const std::vector<Peer>& peers, NodeId node) noexcept {
  return std::any_of(peers.begin(), peers.end(), [&](const Peer& p) { return p.node == node; });
}

bool holds(const NeighbourLists& lists, NodeId node) noexcept {
  return holds(lists.before.peers, node) || holds(lists.after.peers, node);
}

/// Inserts a peer in order of `distance`. Returns true if the peer is new.
template <typename Distance>
bool place_on(Side& side, const Peer& peer, Distance distance) {
  if (holds(side.peers, peer.node)) return false;
  const auto at = std::lower_bound(side.peers.begin(), side.peers.end(), peer,
                                   [&](const Peer& a, const Peer& b) { return distance(a) < distance(b); });
  if (at != side.peers.end() && at->id == peer.id) {
    // Two nodes with one id: the other node takes a new id.
    if (peer.node > at->node) return false;
    *at = peer;
    return true;
  }
  const bool last = at == side.peers.end();
  if (last && side.peers.size() == kNeighbourListLength) return false;
  side.peers.insert(at, peer);
  if (side.peers.size() > kNeighbourListLength) side.peers.pop_back();
  if (side.peers.size() == kNeighbourListLength) side.span = std::min(side.span, distance(side.peers.back()));
  return true;
}

template <typename Distance>
bool side_is_sound(const Peer& of, const Side& side, Distance distance) noexcept {
  if (side.peers.size() > kNeighbourListLength) return false;
  uint64_t last = 0;
  for (const Peer& peer : side.peers) {
    if (peer.node == of.node || distance(peer) <= last) return false;
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

template <typename F>
void each_of(const NeighbourLists& lists, const F& f) {
  for (const Side* side : {&lists.before, &lists.after}) {
    for (const Peer& peer : side->peers) f(peer);
  }
}

}  // namespace

bool Neighbourhood::is_valid(const Peer& of, const NeighbourLists& lists) noexcept {
  return side_is_sound(of, lists.before, against(of.id)) && side_is_sound(of, lists.after, clockwise(of.id));
}

bool Neighbourhood::knows(NodeId node) const noexcept { return holds(lists_, node); }

std::vector<Peer> Neighbourhood::all() const {
  std::vector<Peer> peers;
  each_of(lists_, [&](const Peer& peer) {
    if (!holds(peers, peer.node)) peers.push_back(peer);
  });
  return peers;
}

bool Neighbourhood::owns(RingId key) const noexcept {
  // Uses the nearest predecessor, or, without predecessors, the last successor.
  const Side& side = lists_.before;
  if (!side.peers.empty()) return self_.id - key < self_.id - side.peers.front().id;
  if (!alone()) return self_.id - key < self_.id - lists_.after.peers.back().id;
  return whole() || self_.id - key < side.span;
}

bool Neighbourhood::covers(RingId key) const noexcept {
  if (claims(self_.id, lists_, key)) return true;
  return !lists_.after.peers.empty() && in_arc(self_.id, key, lists_.after.peers.front().id);
}

Peer Neighbourhood::owner_of(RingId key) const noexcept {
  Peer owner = self_;
  each_of(lists_, [&](const Peer& peer) {
    if (peer.id - key < owner.id - key) owner = peer;
  });
  return owner;
}

// Returns true if the peer is new and on its own side. A list that has lost a peer is filled with a peer from the far
// end of the other list until the correct peer is known.
bool Neighbourhood::place(const Peer& peer) {
  if (peer.node == self_.node || peer.id == self_.id) return false;
  const bool ahead = peer.id - self_.id <= kCircle / 2;
  const bool after = place_on(lists_.after, peer, clockwise(self_.id));
  const bool before = place_on(lists_.before, peer, against(self_.id));
  return whole() ? after || before : ahead ? after : before;
}

bool Neighbourhood::erase(NodeId node) {
  const auto from = [&](Side& side) {
    return std::erase_if(side.peers, [&](const Peer& peer) { return peer.node == node; }) > 0;
  };
  const bool before = from(lists_.before);
  return from(lists_.after) || before;
}

Neighbourhood::Merged Neighbourhood::merge(const Peer& of, const NeighbourLists& theirs,
                                           const std::function<bool(const Peer&)>& believed) {
  Merged merged;
  const RingId me = self_.id;
  // The peer may have taken another id.
  bool moved = false;
  each_of(lists_, [&](const Peer& peer) { moved = moved || (peer.node == of.node && peer.id != of.id); });
  if (moved) erase(of.node);
  const bool see_me = claims(of.id, theirs, me);
  // Within both claims, does each node know the other's peers?
  const auto both_claim = [&](const Peer& peer) {
    return claims(me, lists_, peer.id) && (peer.node == of.node || claims(of.id, theirs, peer.id));
  };
  bool agree = true;
  each_of(lists_, [&](const Peer& peer) {
    agree = agree && (peer.node == of.node || !both_claim(peer) || holds(theirs, peer.node));
  });
  bool joiner = false;
  bool strangers = false;
  std::vector<Peer> named = {of};
  each_of(theirs, [&](const Peer& peer) {
    if (peer.node != self_.node && !holds(named, peer.node)) named.push_back(peer);
  });
  std::erase_if(named, [&](const Peer& peer) { return !knows(peer.node) && !believed(peer); });
  for (const Peer& peer : named) {
    if (!knows(peer.node) && claims(me, lists_, peer.id)) (peer.node == of.node ? joiner : strangers) = true;
  }
  if (strangers && see_me) {
    narrow(of.id, theirs);
  } else if (strangers) {
    stop_short(of.id, theirs);
    merged.apart = true;
  } else if (see_me && agree && !joiner) {
    extend(of.id, theirs);
  }
  if (!strangers && knows(of.node)) {
    each_of(lists_, [&](const Peer& peer) {
      const bool seen = peer.node == of.node || holds(theirs, peer.node) || !claims(of.id, theirs, peer.id);
      if (!seen && !holds(merged.doubted, peer.node)) merged.doubted.push_back(peer);
    });
  }
  for (const Peer& peer : named) {
    const bool known = knows(peer.node);  // on one of the sides
    if (place(peer) && !known) merged.fresh.push_back(peer);
  }
  return merged;
}

namespace {

/// How far the claim of `theirs` around `centre` extends on both sides of a point within it.
struct Claim {
  uint64_t before, after;
  Claim(RingId centre, const NeighbourLists& theirs, RingId point) noexcept
      : before(Neighbourhood::covers_all(theirs) ? kCircle : point - (centre - theirs.before.span)),
        after(Neighbourhood::covers_all(theirs) ? kCircle : centre + theirs.after.span - point) {}
};

}  // namespace

// Several unknown peers may belong to a ring unknown here. The claim shrinks to the part that both nodes see.
void Neighbourhood::narrow(RingId centre, const NeighbourLists& theirs) {
  const Claim claim(centre, theirs, self_.id);
  lists_.before.span = std::min(lists_.before.span, claim.before);
  lists_.after.span = std::min(lists_.after.span, claim.after);
}

void Neighbourhood::stop_short(RingId centre, const NeighbourLists& theirs) {
  lists_.after.span = std::min(lists_.after.span, centre - theirs.before.span - self_.id - 1);
  lists_.before.span = std::min(lists_.before.span, self_.id - (centre + theirs.after.span) - 1);
}

void Neighbourhood::extend(RingId centre, const NeighbourLists& theirs) {
  const Claim claim(centre, theirs, self_.id);
  const auto grow = [](Side& side, uint64_t span, auto distance) {
    side.span = std::max(side.span, span);
    if (side.peers.size() == kNeighbourListLength) side.span = std::min(side.span, distance(side.peers.back()));
  };
  grow(lists_.before, claim.before, against(self_.id));
  grow(lists_.after, claim.after, clockwise(self_.id));
}

}  // namespace actorhost
