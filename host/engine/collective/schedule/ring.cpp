#include "host/engine/collective/schedule/algorithms.hpp"

namespace actorhost::ring {

namespace {

/// The block of rank `rank - back`, counted around the ring.
Span block_behind(const Place& place, uint32_t back) {
  return place.block((place.rank + place.ranks - back) % place.ranks);
}

void add_reduce_scatter(Schedule& schedule, const Place& place) {
  const uint32_t n = place.ranks;
  const uint32_t next = (place.rank + 1) % n;
  const uint32_t before = (place.rank + n - 1) % n;
  // A block starts at the rank after its owner and reaches its owner last.
  for (uint32_t step = 1; step < n; ++step) {
    schedule.send(next, block_behind(place, step));
    schedule.reduce(before, block_behind(place, step + 1));
  }
  if (n > 1) schedule.finish(block_behind(place, 0));
}

void add_allgather(Schedule& schedule, const Place& place) {
  const uint32_t n = place.ranks;
  for (uint32_t step = 0; step + 1 < n; ++step) {
    schedule.send((place.rank + 1) % n, block_behind(place, step));
    schedule.receive((place.rank + n - 1) % n, block_behind(place, step + 1));
  }
}

}  // namespace

Schedule reduce_scatter(const Place& place) {
  Schedule schedule;
  add_reduce_scatter(schedule, place);
  return schedule;
}

Schedule allreduce(const Place& place) {
  Schedule schedule;
  add_reduce_scatter(schedule, place);
  add_allgather(schedule, place);
  return schedule;
}

}  // namespace actorhost::ring
