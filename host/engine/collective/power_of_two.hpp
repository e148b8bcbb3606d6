#pragma once
// Algorithms on hypercubes for any number of ranks: the first 2 (n - 2^k) ranks pair up, the odd one of each pair
// gives its input to the even one and waits for the result, and the others are a cube of 2^k corners.

#include <bit>
#include <cstdint>

#include "host/engine/collective/schedule.hpp"

namespace actorhost {

struct Cube {
  uint32_t corners;  // 2^k
  uint32_t pairs;    // n - 2^k

  explicit Cube(uint32_t ranks) : corners(std::bit_floor(ranks)), pairs(ranks - corners) {}

  bool surplus(uint32_t rank) const noexcept { return rank < 2 * pairs && rank % 2 == 1; }
  uint32_t corner_of(uint32_t rank) const noexcept { return rank < 2 * pairs ? rank / 2 : rank - pairs; }
  uint32_t rank_of(uint32_t corner) const noexcept { return corner < pairs ? 2 * corner : corner + pairs; }
};

/// A schedule of the cube, `inner(schedule, cube, corner)`, between what the surplus ranks need before and after.
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
