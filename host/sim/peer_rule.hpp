#pragma once
// A barrier rule as one peer asks it: over what messages have told that peer, since no peer knows all clocks. A
// sampling rule gets the states that the sampled peers have answered; any other rule gets the smallest clock that the
// asker has been told of. One thread.

#include <memory>
#include <span>

#include "host/cluster/progress_gate.hpp"
#include "host/sim/admission.hpp"

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

class PeerRule {
 public:
  /// `beta` peers are asked, as `resample` says when (Resample::Kind::event cannot be had by peers); kAll: nobody is,
  /// the rule goes by the smallest clock.
  PeerRule(uint32_t beta, Resample resample) : beta_(beta), resample_(resample) {}
  PeerRule(const PeerRule&) = delete;
  PeerRule& operator=(const PeerRule&) = delete;
  virtual ~PeerRule() = default;

  uint32_t beta() const noexcept { return beta_; }
  Resample resample() const noexcept { return resample_; }
  /// It needs no clock of another node, so no node has to tell of its steps.
  virtual bool blind() const { return false; }
  /// An error is final.
  virtual Status decide(const PeerView& view, Decision& out) = 0;

 private:
  uint32_t beta_;
  Resample resample_;
};

std::unique_ptr<PeerRule> make_peer_rule(const NativeRule& rule);
/// Any rule that can decide from partial knowledge (BarrierRule::decide_partly), which must outlive it; `beta` and
/// `resample` are those of its outermost sampling. Nothing is drawn from what the peers have answered: a sample of as
/// many as there are is all of them.
std::unique_ptr<PeerRule> make_peer_rule(BarrierRule& rule, uint32_t beta, Resample resample);

}  // namespace actorhost
