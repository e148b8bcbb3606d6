#pragma once
// How many nodes there are, from the density of their ids: windows that a node has seen lately, its own and those of
// owners that it has looked up, hold the gaps between neighbours. K gaps that together fill the part f of the circle
// give (K - 1) / f nodes, with a relative standard error of 1 / sqrt(K - 2): the gaps of uniform ids are nearly
// independent and exponential. When they fill all of it the count is exact.

#include <deque>

#include "host/overlay/ring.hpp"

namespace actorhost {

struct SizeEstimate {
  double nodes = 1;
  double error = 0;  // standard error, in nodes
};

class SizeCensus {
 public:
  /// A window around the owner of a key. The gap in which the key lies is not counted: a random key meets long gaps more
  /// often than short ones.
  void add(const Peer& owner, const Window& window, double now);
  SizeEstimate estimate(const Peer& self, const Window& own, double now) const;

 private:
  static constexpr size_t kWindows = 24;
  static constexpr double kSeconds = 60;

  struct Seen {
    double time;
    std::vector<RingId> before, after;  // ids in clockwise order; those behind the owner begin with its own
  };
  std::deque<Seen> seen_;
};

}  // namespace actorhost
