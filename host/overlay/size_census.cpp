#include "host/overlay/size_census.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "host/overlay/neighbourhood.hpp"

namespace actorhost {

namespace {

/// The ids that a claim is about, in clockwise order.
std::vector<RingId> ids_of(const Side& side, RingId from, bool after) {
  std::vector<RingId> ids;
  for (size_t i = 0; i < side.claimed(from, after); ++i) ids.push_back(side.peers[i].id);
  if (!after) std::reverse(ids.begin(), ids.end());
  return ids;
}

}  // namespace

void SizeCensus::add(const Peer& owner, const Window& window, double now) {
  Seen seen{now, ids_of(window.before, owner.id, false), ids_of(window.after, owner.id, true)};
  seen.after.insert(seen.after.begin(), owner.id);
  seen_.push_back(std::move(seen));
  if (seen_.size() > kWindows) seen_.pop_front();
}

SizeEstimate SizeCensus::estimate(const Peer& self, const Window& own, double now) const {
  if (Neighbourhood::covers_all(own)) {
    std::map<NodeId, bool> peers;
    for (const Side* side : {&own.before, &own.after}) {
      for (const Peer& peer : side->peers) peers[peer.node] = true;
    }
    return {static_cast<double>(peers.size() + 1), 0};
  }
  std::map<RingId, uint64_t> gaps;  // behind an id; the newest window has the last word
  const auto count = [&](const std::vector<RingId>& ids) {
    for (size_t i = 1; i < ids.size(); ++i) gaps[ids[i - 1]] = ids[i] - ids[i - 1];
  };
  for (const Seen& seen : seen_) {
    if (now - seen.time > kSeconds) continue;
    count(seen.before);
    count(seen.after);
  }
  std::vector<RingId> mine = ids_of(own.before, self.id, false);
  mine.push_back(self.id);
  for (const RingId id : ids_of(own.after, self.id, true)) mine.push_back(id);
  count(mine);
  double filled = 0;
  for (const auto& [id, gap] : gaps) filled += std::ldexp(static_cast<double>(gap), -64);
  const auto k = static_cast<double>(gaps.size());
  if (k < 3 || filled >= 1 - 1e-9) return {std::max(k, 1.0), filled >= 1 - 1e-9 ? 0 : k};
  const double nodes = (k - (1 - filled)) / filled;
  return {nodes, nodes * std::sqrt((1 - filled) / (k - 2))};
}

}  // namespace actorhost
