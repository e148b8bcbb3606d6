#pragma once
// Evaluates a barrier rule for one peer over the clocks that messages have reported to it, since no peer knows all
// clocks. A sampling rule gets the states that the sampled peers have reported; any other rule gets the reported
// minimum clock. The engine and the simulator share it. Not thread-safe.

#include <cassert>
#include <span>
#include <vector>

#include "host/barrier/gate.hpp"

namespace actorhost {

/// A peer's report of its state.
struct PeerState : WorkerState {
  NodeId id = 0;
};

struct PeerView {
  PeerState self;        // the requesting node
  double requested = 0;  // when it completed its last step
  double now = 0;
  uint32_t population = 0;          // number of live nodes
  std::span<const PeerState> seen;  // of a sampling rule: the reports, each as of its own time
  int32_t lowest = 0;               // of other rules: no worker has completed fewer steps
};

/// Shows rules only reported clocks. It draws no sample from the reports: the reports are the sample.
class PeerRuleEvaluator {
 public:
  /// `sampled`: the rule sees view.seen; else view.lowest. Otherwise as BarrierRule::decide_partly.
  Status evaluate(BarrierRule& rule, bool sampled, const PeerView& view, Decision& out) {
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

 private:
  void show(const PeerState& peer) {
    [[maybe_unused]] const Status added = reported_.add(peer.id, peer);
    assert(added.ok());  // the caller has checked ids and steps
  }

  Progress reported_;
  std::vector<Slot> slots_;  // of the shown peers
  uint64_t evaluations_ = 0;
};

}  // namespace actorhost
