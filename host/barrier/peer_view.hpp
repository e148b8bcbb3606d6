#pragma once
// Evaluates a barrier rule for one peer over the clocks that messages have reported to it, since no peer knows all
// clocks. A sampling rule gets the states that the sampled peers have reported; any other rule gets the reported
// minimum clock. The engine and the simulator share it. Not thread-safe.

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
  Status evaluate(BarrierRule& rule, bool sampled, const PeerView& view, Decision& out);

 private:
  void show(const PeerState& peer);

  Progress reported_;
  std::vector<Slot> slots_;  // of the shown peers
  uint64_t evaluations_ = 0;
};

}  // namespace actorhost
