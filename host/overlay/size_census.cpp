#include "host/overlay/size_census.hpp"

#include <cmath>
#include <map>

#include "host/overlay/neighbourhood.hpp"

namespace actorhost {

namespace {

std::vector<RingId> ids_of(const std::vector<Peer>& peers, bool turned) {
  std::vector<RingId> ids;
  for (const Peer& peer : peers) ids.push_back(peer.id);
  if (turned) return {ids.rbegin(), ids.rend()};
  return ids;
}

}  // namespace

void SizeCensus::add(const Peer& owner, const Window& window, double now) {
  Seen seen{now, ids_of(window.before.peers, true), {owner.id}};
  for (const Peer& peer : window.after.peers) seen.after.push_back(peer.id);
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
  std::vector<RingId> mine = ids_of(own.before.peers, true);
  mine.push_back(self.id);
  for (const Peer& peer : own.after.peers) mine.push_back(peer.id);
  count(mine);
  double filled = 0;
  for (const auto& [id, gap] : gaps) filled += std::ldexp(static_cast<double>(gap), -64);
  const auto k = static_cast<double>(gaps.size());
  if (k < 3 || filled >= 1 - 1e-9) return {std::max(k, 1.0), filled >= 1 - 1e-9 ? 0 : k};
  const double nodes = (k - (1 - filled)) / filled;
  return {nodes, nodes * std::sqrt((1 - filled) / (k - 2))};
}

}  // namespace actorhost
