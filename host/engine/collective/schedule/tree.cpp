#include <bit>

#include "host/engine/collective/schedule/algorithms.hpp"

namespace actorhost::tree {

namespace {

/// The neighbours of a place, numbered from the root: a place's parent is its number without the lowest set bit.
struct Relatives {
  uint32_t place;
  uint32_t parent;
  std::vector<uint32_t> children;  // the child with the largest subtree first
};

Relatives relatives_of(const Place& place, uint32_t root) {
  const uint32_t n = place.ranks;
  const auto rank_at = [&](uint32_t at) { return (at + root) % n; };
  Relatives mine;
  mine.place = (place.rank + n - root) % n;
  mine.parent = rank_at(mine.place & (mine.place - 1));
  const uint32_t reach = mine.place == 0 ? std::bit_ceil(n) : mine.place & (~mine.place + 1);
  for (uint32_t bit = reach / 2; bit > 0; bit /= 2) {
    if (mine.place + bit < n) mine.children.push_back(rank_at(mine.place + bit));
  }
  return mine;
}

}  // namespace

Schedule broadcast(const Place& place, uint32_t root) {
  const Span all{0, place.elements};
  const Relatives mine = relatives_of(place, root);
  Schedule schedule;
  if (mine.place != 0) schedule.receive(mine.parent, all);
  for (const uint32_t child : mine.children) schedule.send(child, all);
  return schedule;
}

Schedule reduce(const Place& place, uint32_t root) {
  const Span all{0, place.elements};
  const Relatives mine = relatives_of(place, root);
  Schedule schedule;
  // The smallest subtrees are ready first.
  for (auto child = mine.children.rbegin(); child != mine.children.rend(); ++child) schedule.reduce(*child, all);
  if (mine.place != 0) {
    schedule.send(mine.parent, all);
  } else if (place.ranks > 1) {
    schedule.finish(all);
  }
  return schedule;
}

}  // namespace actorhost::tree
