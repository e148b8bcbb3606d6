#include "host/overlay/size_census.hpp"

#include <algorithm>
#include <cmath>

#include "host/overlay/neighbourhood.hpp"

namespace actorhost {

SizeCensus::Stretch SizeCensus::stretch_of(const Peer& centre, const NeighbourLists& lists, double time) {
  Stretch stretch{time, centre.id, 0, {centre.id}};
  RingId end = centre.id;
  for (size_t i = 0; i < lists.before.claimed(centre.id, false); ++i) {
    stretch.ids.push_back(stretch.begin = lists.before.peers[i].id);
  }
  for (size_t i = 0; i < lists.after.claimed(centre.id, true); ++i) {
    end = lists.after.peers[i].id;
    if (std::find(stretch.ids.begin(), stretch.ids.end(), end) == stretch.ids.end()) stretch.ids.push_back(end);
  }
  stretch.length = Neighbourhood::covers_all(lists) ? kCircle : end - stretch.begin;
  return stretch;
}

void SizeCensus::add(const Peer& owner, const NeighbourLists& lists, double now) {
  seen_.push_back(stretch_of(owner, lists, now));
  if (seen_.size() > kMostLists) seen_.pop_front();
}

SizeEstimate SizeCensus::estimate(const Peer& self, const NeighbourLists& own, double now) const {
  const Stretch mine = stretch_of(self, own, now);
  std::vector<const Stretch*> stretches = {&mine};
  for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
    if (now - seen->time <= kSeconds) stretches.push_back(&*seen);
  }
  // Where several lists overlap, only the newest counts.
  double peers = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    for (const RingId id : stretches[i]->ids) {
      const auto newer = stretches.begin() + static_cast<std::ptrdiff_t>(i);
      peers += std::any_of(stretches.begin(), newer, [&](const Stretch* s) { return s->holds(id); }) ? 0 : 1;
    }
  }
  // Positions are relative to the start of the node's own arc. Only an arc that ends within the own arc passes that
  // start.
  std::sort(stretches.begin(), stretches.end(),
            [&](const Stretch* a, const Stretch* b) { return a->begin - mine.begin < b->begin - mine.begin; });
  uint64_t end = 0;  // of the covered part so far
  double filled = 0;
  bool gapless = true;
  for (const Stretch* stretch : stretches) {
    const uint64_t begin = stretch->begin - mine.begin;
    const bool wraps = stretch->length > kCircle - begin;
    gapless = gapless && begin <= end;
    if (stretch->length == kCircle || (gapless && wraps)) return {peers, 0};
    const uint64_t to = wraps ? kCircle : begin + stretch->length;
    if (to > end) filled += std::ldexp(static_cast<double>(to - std::max(begin, end)), -64);
    end = std::max(end, to);
  }
  if (peers < 3) return {peers, peers};
  const double nodes = (peers - 1) / filled;
  return {nodes, nodes * std::sqrt((1 - filled) / peers)};
}

}  // namespace actorhost
