#pragma once
// The neighbours of a node on the ring: the kNeighbourListLength nearest known live peers on each side (predecessor and
// successor list). The node also claims that its lists are complete up to the `span` of each side. The claim grows
// where neighbours' claims agree, and shrinks where a neighbour knows peers unknown here. Density estimates use only
// the claimed part. Passive.

#include <functional>
#include <vector>

#include "host/overlay/peer.hpp"

namespace actorhost {

class Neighbourhood {
 public:
  explicit Neighbourhood(const Peer& self) : self_(self) {}

  const Peer& self() const noexcept { return self_; }
  const NeighbourLists& lists() const noexcept { return lists_; }
  bool alone() const noexcept { return lists_.before.peers.empty() && lists_.after.peers.empty(); }
  /// The claim covers the whole ring.
  bool whole() const noexcept { return covers_all(lists_); }
  bool knows(NodeId node) const noexcept;
  /// All known neighbours, without duplicates.
  std::vector<Peer> all() const;
  /// This node owns the key, as far as it knows.
  bool owns(RingId key) const noexcept;
  /// `covers`: the lists must contain the owner of the key; `owner_of` returns that owner.
  bool covers(RingId key) const noexcept;
  Peer owner_of(RingId key) const noexcept;

  bool erase(NodeId node);

  struct Merged {
    std::vector<Peer> fresh;
    std::vector<Peer> doubted;  // known here but missing in the other node's list, which claims to be complete there
    bool apart = false;  // the other node knows peers within this claim, but not the ring between them and this node
  };
  /// Merges `of` and its peers, if they are `believed` and among the nearest.
  Merged merge(const Peer& of, const NeighbourLists& theirs, const std::function<bool(const Peer&)>& believed);

  /// Whether the received lists of `of` are well formed: at most kNeighbourListLength peers a side, nearest first.
  static bool is_valid(const Peer& of, const NeighbourLists& lists) noexcept;
  static bool covers_all(const NeighbourLists& lists) noexcept {
    return lists.after.span == kCircle || lists.after.span >= uint64_t{0} - lists.before.span;
  }

 private:
  static bool claims(RingId centre, const NeighbourLists& lists, RingId id) noexcept {
    return id - centre <= lists.after.span || centre - id <= lists.before.span;
  }
  bool place(const Peer& peer);
  void narrow(RingId centre, const NeighbourLists& theirs);
  void stop_short(RingId centre, const NeighbourLists& theirs);
  void extend(RingId centre, const NeighbourLists& theirs);

  Peer self_;
  NeighbourLists lists_;
};

}  // namespace actorhost
