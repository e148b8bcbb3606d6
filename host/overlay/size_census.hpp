#pragma once
// Estimates the number of nodes from the density of their ids in recently seen neighbour lists: the node's own, and
// those of owners found by lookups. If K peers are on arcs that cover the fraction f of the circle, there are about (K
// - 1) / f nodes, with a relative standard error of sqrt((1 - f) / K), because ids are uniform. Where f = 1 the count
// is exact. Passive.

#include <deque>

#include "host/overlay/peer.hpp"

namespace actorhost {

struct SizeEstimate {
  double nodes = 1;
  double error = 0;  // standard error, in nodes
};

class SizeCensus {
 public:
  /// Adds the neighbour lists of an owner found by a lookup.
  void add(const Peer& owner, const NeighbourLists& lists, double now);
  SizeEstimate estimate(const Peer& self, const NeighbourLists& own, double now) const;

 private:
  static constexpr size_t kMostLists = 24;
  static constexpr double kSeconds = 20;

  /// The peers on the arc of this `length` from `begin`.
  struct Stretch {
    double time = 0;
    RingId begin = 0;
    uint64_t length = 0;
    std::vector<RingId> ids;
    bool holds(RingId id) const noexcept { return id - begin <= length; }
  };
  static Stretch stretch_of(const Peer& centre, const NeighbourLists& lists, double time);

  std::deque<Stretch> seen_;
};

}  // namespace actorhost
