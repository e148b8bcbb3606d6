#pragma once
// Extends hypercube algorithms, which need 2^k ranks, to any number n of ranks. 2^k is the greatest power of two up to
// n. The first 2 (n - 2^k) ranks form pairs. The odd rank of a pair is surplus: it sends its input to the even rank and
// waits for the result. The other 2^k ranks are the corners of the cube. The pairs cost two more steps, each with the
// whole input. Pure functions.

#include <bit>
#include <cstdint>

#include "host/engine/collective/schedule/schedule.hpp"

namespace actorhost {

/// The mapping between ranks and corners.
struct Cube {
  uint32_t corners;  // 2^k
  uint32_t pairs;    // n - 2^k

  explicit Cube(uint32_t ranks) : corners(std::bit_floor(ranks)), pairs(ranks - corners) {}

  bool surplus(uint32_t rank) const noexcept { return rank < 2 * pairs && rank % 2 == 1; }
  uint32_t corner_of(uint32_t rank) const noexcept { return rank < 2 * pairs ? rank / 2 : rank - pairs; }
  uint32_t rank_of(uint32_t corner) const noexcept { return corner < pairs ? 2 * corner : corner + pairs; }
};

/// The schedule of one rank. `inner(schedule, cube, corner)` adds the steps of a corner; the steps with the surplus
/// rank of its pair are added before and after.
template <typename Inner>
Schedule around_cube(const Place& place, Inner inner) {
  const Cube cube(place.ranks);
  const Span all{0, place.elements};
  Schedule schedule;
  if (cube.surplus(place.rank)) {
    schedule.send(place.rank - 1, all);
    schedule.receive(place.rank - 1, all);
    return schedule;
  }
  const bool paired = place.rank < 2 * cube.pairs;
  if (paired) schedule.reduce(place.rank + 1, all);
  inner(schedule, cube, cube.corner_of(place.rank));
  if (paired) schedule.send(place.rank + 1, all);
  return schedule;
}

}  // namespace actorhost
