#include "host/engine/collective/schedule/algorithms.hpp"
#include "host/engine/collective/schedule/power_of_two.hpp"

namespace actorhost::halving_doubling {

namespace {

struct Halving {
  uint32_t partner;
  Span kept;
  Span given;
};

}  // namespace

Schedule allreduce(const Place& place) {
  return around_cube(place, [&](Schedule& schedule, const Cube& cube, uint32_t corner) {
    std::vector<Halving> halvings;
    Span mine{0, place.elements};
    for (uint32_t bit = cube.corners / 2; bit > 0; bit /= 2) {
      const size_t middle = mine.begin + mine.size() / 2;
      const Span low{mine.begin, middle};
      const Span high{middle, mine.end};
      const bool keeps_high = (corner & bit) != 0;
      const Halving halving{cube.rank_of(corner ^ bit), keeps_high ? high : low, keeps_high ? low : high};
      schedule.send(halving.partner, halving.given);
      schedule.reduce(halving.partner, halving.kept);
      halvings.push_back(halving);
      mine = halving.kept;
    }
    if (place.ranks > 1) schedule.finish(mine);
    for (auto halving = halvings.rbegin(); halving != halvings.rend(); ++halving) {
      schedule.send(halving->partner, halving->kept);
      schedule.receive(halving->partner, halving->given);
    }
  });
}

}  // namespace actorhost::halving_doubling
