#include "host/engine/collective/schedule/algorithms.hpp"

namespace actorhost::chain {

Schedule broadcast(const Place& place, uint32_t root) {
  const uint32_t n = place.ranks;
  const uint32_t from_root = (place.rank + n - root) % n;
  const Span all{0, place.elements};
  Schedule schedule;
  if (from_root > 0) schedule.receive((place.rank + n - 1) % n, all);
  if (from_root + 1 < n) schedule.send((place.rank + 1) % n, all);
  return schedule;
}

Schedule reduce(const Place& place, uint32_t root) {
  const uint32_t n = place.ranks;
  const uint32_t from_root = (place.rank + n - root) % n;
  const Span all{0, place.elements};
  Schedule schedule;
  if (from_root + 1 < n) schedule.reduce((place.rank + 1) % n, all);
  if (from_root > 0) {
    schedule.send((place.rank + n - 1) % n, all);
  } else if (n > 1) {
    schedule.finish(all);
  }
  return schedule;
}

}  // namespace actorhost::chain
