#pragma once
// How many nodes there are, from the density of their ids: in windows that a node has seen lately, its own and those of
// owners of keys that it has looked up. Where K peers lie on stretches that fill the part f of the circle there are
// about (K - 1) / f nodes, with a relative standard error of sqrt((1 - f) / K), since ids are uniform. When the circle
// is full the count is exact.

#include <deque>

#include "host/overlay/peer.hpp"

namespace actorhost {

struct SizeEstimate {
  double nodes = 1;
  double error = 0;  // standard error, in nodes
};

class SizeCensus {
 public:
  /// The window of the owner of a key.
  void add(const Peer& owner, const Window& window, double now);
  SizeEstimate estimate(const Peer& self, const Window& own, double now) const;

 private:
  static constexpr size_t kWindows = 24;
  static constexpr double kSeconds = 20;

  /// The peers on the `length` from `begin` on.
  struct Stretch {
    double time = 0;
    RingId begin = 0;
    uint64_t length = 0;
    std::vector<RingId> ids;
    bool holds(RingId id) const noexcept { return id - begin <= length; }
  };
  static Stretch stretch_of(const Peer& centre, const Window& window, double time);

  std::deque<Stretch> seen_;
};

}  // namespace actorhost
