#include "host/engine/collective/schedule/algorithms.hpp"
#include "host/engine/collective/schedule/power_of_two.hpp"

namespace actorhost::recursive_doubling {

Schedule allreduce(const Place& place) {
  const Span all{0, place.elements};
  return around_cube(place, [&](Schedule& schedule, const Cube& cube, uint32_t corner) {
    for (uint32_t bit = 1; bit < cube.corners; bit *= 2) {
      const uint32_t partner = cube.rank_of(corner ^ bit);
      schedule.send(partner, all, true);  // a copy, since this step overwrites the elements
      schedule.reduce(partner, all);
    }
    if (place.ranks > 1) schedule.finish(all);
  });
}

}  // namespace actorhost::recursive_doubling
