#pragma once
// The barrier rule of simulated peers: an actor.barrier rule, or a classic rule in C++. Decides from the states that
// the peer has received in messages (host/barrier/peer_view.hpp). One thread.

#include <memory>

#include "host/barrier/peer_view.hpp"
#include "host/sim/admission.hpp"

namespace actorhost {

class PeerRule {
 public:
  /// A peer queries `beta` peers, at the times that `resample` defines; peers do not support Resample::Kind::event.
  /// kAll: a peer queries none, and the rule decides from the minimum clock.
  PeerRule(uint32_t beta, Resample resample) : beta_(beta), resample_(resample) {}
  PeerRule(const PeerRule&) = delete;
  PeerRule& operator=(const PeerRule&) = delete;
  virtual ~PeerRule() = default;

  uint32_t beta() const noexcept { return beta_; }
  Resample resample() const noexcept { return resample_; }
  /// The rule uses no clock of another node, so nodes send no steps.
  virtual bool blind() const { return false; }
  /// An error is final.
  virtual Status decide(const PeerView& view, Decision& out) = 0;

 private:
  uint32_t beta_;
  Resample resample_;
};

std::unique_ptr<PeerRule> make_peer_rule(const NativeRule& rule);
/// For any rule that can decide from partial knowledge (BarrierRule::decide_partly). `rule` must outlive the result.
/// `beta` and `resample` are the parameters of the rule's outermost sample.
std::unique_ptr<PeerRule> make_peer_rule(BarrierRule& rule, uint32_t beta, Resample resample);

}  // namespace actorhost
