#include "host/cluster/peer_view.hpp"

#include <cassert>

namespace actorhost {

void PeerQuestion::show(const PeerState& peer) {
  [[maybe_unused]] const Status added = heard_.add(peer.id, peer);
  assert(added.ok());  // the caller has checked ids and steps
}

Status PeerQuestion::ask(BarrierRule& rule, bool sampled, const PeerView& view, Decision& out) {
  while (heard_.size() > 0) heard_.remove(heard_.ids()[heard_.size() - 1]);
  PartialSight sight;
  sight.population = view.population;
  sight.aggregates = !sampled;
  for (const PeerState& peer : view.seen) show(peer);
  Seen& seen = sight.seen;
  if (sight.aggregates) {
    seen.lowest = view.lowest;
  } else if (heard_.size() > 0) {
    seen.lowest = heard_.min();
    seen.highest = heard_.max();
  }
  // Also shows the requesting node's own clock, unless it is among the reports.
  if (heard_.slot(view.self.id) == kNoSlot) show(view.self);
  heard_.ask(view.self.id, view.asked);
  slots_.clear();
  for (const PeerState& peer : view.seen) slots_.push_back(heard_.slot(peer.id));
  seen.slots = slots_.data();
  seen.n = static_cast<uint32_t>(slots_.size());
  seen.version = ++looks_;
  return rule.decide_partly(heard_, heard_.slot(view.self.id), sight, view.now, out);
}

}  // namespace actorhost
