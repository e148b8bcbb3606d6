#include "host/engine/collective/schedule/algorithms.hpp"

namespace actorhost::ordered {

namespace {

/// The rank at a distance behind this one. Each rank begins with its successor, so they do not all write to one rank.
uint32_t after(const Place& place, uint32_t distance) { return (place.rank + distance) % place.ranks; }

void add_reduce_scatter(Schedule& schedule, const Place& place) {
  for (uint32_t i = 1; i < place.ranks; ++i) schedule.send(after(place, i), place.block(after(place, i)));
  if (place.ranks == 1) return;
  const Span mine = place.block(place.rank);
  for (uint32_t rank = 0; rank < place.ranks; ++rank) {
    if (rank == place.rank) {
      if (rank > 0) schedule.own(mine);  // the sum begins with rank 0's part
    } else if (rank == 0) {
      schedule.receive(rank, mine);
    } else {
      schedule.reduce(rank, mine);
    }
  }
  schedule.finish(mine);
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
  for (uint32_t i = 1; i < place.ranks; ++i) schedule.send(after(place, i), place.block(place.rank));
  for (uint32_t i = 1; i < place.ranks; ++i) schedule.receive(after(place, i), place.block(after(place, i)));
  return schedule;
}

Schedule reduce(const Place& place, uint32_t root) {
  Schedule schedule;
  add_reduce_scatter(schedule, place);
  if (place.rank != root) {
    schedule.send(root, place.block(place.rank));
  } else {
    for (uint32_t i = 1; i < place.ranks; ++i) schedule.receive(after(place, i), place.block(after(place, i)));
  }
  return schedule;
}

}  // namespace actorhost::ordered
