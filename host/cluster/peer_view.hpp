#pragma once
// A barrier rule as one peer asks it: over what messages have told that peer, since no peer knows all clocks. A
// sampling rule gets the states that the sampled peers have answered; any other rule gets the smallest clock that the
// asker has been told of. Engine and simulator ask alike. One thread.

#include <span>
#include <vector>

#include "host/cluster/progress_gate.hpp"

namespace actorhost {

/// What a peer says of itself.
struct PeerState : WorkerState {
  NodeId id = 0;
};

struct PeerView {
  PeerState self;    // the asking node
  double asked = 0;  // when it completed its last step
  double now = 0;
  uint32_t population = 0;          // live nodes
  std::span<const PeerState> seen;  // of a sampling rule: the answers, from when each was given
  int32_t lowest = 0;               // of any other: none has completed fewer steps
};

/// Shows rules only the clocks of nodes that the asker has heard of. Nothing is drawn from what the peers have
/// answered: a sample of as many as there are is all of them.
class PeerQuestion {
 public:
  /// `sampled`: the rule is shown view.seen; else view.lowest. As BarrierRule::decide_partly.
  Status ask(BarrierRule& rule, bool sampled, const PeerView& view, Decision& out);

 private:
  void show(const PeerState& peer);

  Progress heard_;
  std::vector<Slot> slots_;  // of those seen
  uint64_t looks_ = 0;
};

}  // namespace actorhost
