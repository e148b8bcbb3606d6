#pragma once
// The peers around a node on the ring: of all live ones that it has heard of, the kReach nearest on each side. Beside
// that, it claims to know all peers up to the span of each side. The claim is made where neighbours' claims agree, and
// given up where one of them knows peers that were not known here; densities are taken within it.

#include <functional>
#include <vector>

#include "host/overlay/peer.hpp"

namespace actorhost {

class Neighbourhood {
 public:
  explicit Neighbourhood(const Peer& self) : self_(self) {}

  const Window& window() const noexcept { return window_; }
  bool alone() const noexcept { return window_.before.peers.empty() && window_.after.peers.empty(); }
  /// The claim goes all the way round.
  bool whole() const noexcept { return covers_all(window_); }
  bool knows(NodeId node) const noexcept;
  /// Each peer once.
  std::vector<Peer> all() const;
  /// The node itself owns the key, as far as it knows.
  bool owns(RingId key) const noexcept;
  /// Whether the owner of the key must be known, and that.
  bool covers(RingId key) const noexcept;
  Peer owner_of(RingId key) const noexcept;

  bool erase(NodeId node);

  struct Merged {
    std::vector<Peer> fresh;
    std::vector<Peer> doubted;  // known here, and not to the other one, which claims to know all peers there
    bool apart = false;         // the other one knows peers of this claim, but not what lies between them and this node
  };
  /// Takes in `of` and the peers that it knows, as far as they are `believed` and among the nearest.
  Merged merge(const Peer& of, const Window& theirs, const std::function<bool(const Peer&)>& believed);

  /// Whether what came as the window of `of` can be one: sides of at most kReach peers, nearest first.
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
