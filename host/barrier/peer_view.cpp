#include "host/barrier/peer_view.hpp"

#include <cassert>

namespace actorhost {

void PeerRuleEvaluator::show(const PeerState& peer) {
  [[maybe_unused]] const Status added = reported_.add(peer.id, peer);
  assert(added.ok());  // the caller has checked ids and steps
}

Status PeerRuleEvaluator::evaluate(BarrierRule& rule, bool sampled, const PeerView& view, Decision& out) {
  while (reported_.size() > 0) reported_.remove(reported_.ids()[reported_.size() - 1]);
  PartialSight sight;
  sight.population = view.population;
  sight.aggregates = !sampled;
  for (const PeerState& peer : view.seen) show(peer);
  Seen& seen = sight.seen;
  if (sight.aggregates) {
    seen.lowest = view.lowest;
  } else if (reported_.size() > 0) {
    seen.lowest = reported_.min();
    seen.highest = reported_.max();
  }
  // Also shows the requesting node's own clock, unless it is among the reports.
  if (reported_.slot(view.self.id) == kNoSlot) show(view.self);
  reported_.request(view.self.id, view.requested);
  slots_.clear();
  for (const PeerState& peer : view.seen) slots_.push_back(reported_.slot(peer.id));
  seen.slots = slots_.data();
  seen.n = static_cast<uint32_t>(slots_.size());
  seen.version = ++evaluations_;
  return rule.decide_partly(reported_, reported_.slot(view.self.id), sight, view.now, out);
}

}  // namespace actorhost
