#pragma once
// The neighbours of a node on the ring: the kReach nearest known live peers on each side (predecessor and successor
// list). The node also claims that its lists are complete up to the `span` of each side. The claim grows where
// neighbours' claims agree, and shrinks where a neighbour knows peers unknown here. Density estimates use only the
// claimed part. Passive.

#include <functional>
#include <vector>

#include "host/overlay/peer.hpp"

namespace actorhost {

class Neighbourhood {
 public:
  explicit Neighbourhood(const Peer& self) : self_(self) {}

  const Window& window() const noexcept { return window_; }
  bool alone() const noexcept { return window_.before.peers.empty() && window_.after.peers.empty(); }
  /// The claim covers the whole ring.
  bool whole() const noexcept { return covers_all(window_); }
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
  Merged merge(const Peer& of, const Window& theirs, const std::function<bool(const Peer&)>& believed);

  /// Whether a received window of `of` is well formed: at most kReach peers a side, nearest first.
  static bool sound(const Peer& of, const Window& window) noexcept;
  static bool covers_all(const Window& window) noexcept {
    return window.after.span == kCircle || window.after.span >= uint64_t{0} - window.before.span;
  }

 private:
  static bool claims(RingId centre, const Window& window, RingId id) noexcept {
    return id - centre <= window.after.span || centre - id <= window.before.span;
  }
  bool place(const Peer& peer);
  void narrow(RingId centre, const Window& theirs);
  void stop_short(RingId centre, const Window& theirs);
  void extend(RingId centre, const Window& theirs);

  Peer self_;
  Window window_;
};

}  // namespace actorhost
