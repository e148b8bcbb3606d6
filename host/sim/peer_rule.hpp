#pragma once
// What the peers of a simulation ask before they go on: a rule of actor.barrier or a classic one in C++, over what
// messages have told the asker (host/cluster/peer_view.hpp). One thread.

#include <memory>

#include "host/cluster/peer_view.hpp"
#include "host/sim/admission.hpp"

namespace actorhost {

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
/// `resample` are those of its outermost sampling.
std::unique_ptr<PeerRule> make_peer_rule(BarrierRule& rule, uint32_t beta, Resample resample);

}  // namespace actorhost
