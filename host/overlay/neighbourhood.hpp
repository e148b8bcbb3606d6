#pragma once
// The peers around a node on the ring. What it knows is contiguous: it claims to know all peers up to the span of each
// side, so their density tells how many nodes there are. A peer that lies farther away is not taken in, except when a
// neighbour's window, which continues this one, holds it.

#include <functional>
#include <vector>

#include "host/overlay/ring.hpp"

namespace actorhost {

class Neighbourhood {
 public:
  explicit Neighbourhood(const Peer& self) : self_(self) {}

  const Window& window() const noexcept { return window_; }
  bool alone() const noexcept { return window_.before.peers.empty() && window_.after.peers.empty(); }
  /// The window goes all the way round.
  bool whole() const noexcept { return covers_all(window_); }
  bool covers(RingId id) const noexcept { return covers(self_.id, window_, id); }
  bool knows(NodeId node) const noexcept;
  /// Each peer once.
  std::vector<Peer> all() const;
  /// The node itself owns the key.
  bool owns(RingId key) const noexcept;
  /// The owner of a key that the window covers.
  Peer owner_of(RingId key) const noexcept;

  bool erase(NodeId node);
  /// What the peer `of` knows. It and the peers that it knows in this window's span are taken in if they are new here
  /// and `believed`; when there are several, what only one of the two could see is no longer claimed: there may be more.
  /// Where the two agree, the window goes on with the other one. Returns the peers that are new.
  std::vector<Peer> merge(const Peer& of, const Window& theirs, const std::function<bool(const Peer&)>& believed);

  /// Whether what came as the window of `of` can be one: sides of at most kReach peers, in order, within their spans.
  static bool sound(const Peer& of, const Window& window) noexcept;
  static bool covers_all(const Window& window) noexcept {
    return window.after.span == kCircle || window.after.span >= uint64_t{0} - window.before.span;
  }

 private:
  static bool covers(RingId centre, const Window& window, RingId id) noexcept {
    return id - centre <= window.after.span || centre - id <= window.before.span;
  }
  void place(const Peer& peer);
  void extend(const Peer& of, const Window& theirs, const std::function<bool(const Peer&)>& believed);
  void narrow(RingId centre, const Window& theirs);
  void stop_short(RingId centre, const Window& theirs);

  Peer self_;
  Window window_;
};

}  // namespace actorhost
