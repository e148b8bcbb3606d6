#pragma once
// The barrier rule of simulated peers. It decides whether a peer may start a step, from the states that the peer has
// received in messages (host/barrier/peer_view.hpp). There are two forms: a rule in C++ (NativeRule), and any rule of
// actor.barrier. Belongs to a simulation; not thread-safe.

#include <memory>

#include "host/barrier/peer_view.hpp"
#include "host/base/non_copyable.hpp"
#include "host/sim/admission.hpp"

namespace actorhost {

class PeerRule : public Interface {
 public:
  /// A waiting peer draws a sample of `beta` peers and queries them; `resample` defines when it draws another sample.
  /// Peers cannot resample by Resample::Kind::event. With `beta` NativeRule::kAll there is no sample: the rule decides
  /// from the minimum clock.
  PeerRule(uint32_t beta, Resample resample) : beta_(beta), resample_(resample) {}

  uint32_t beta() const noexcept { return beta_; }
  Resample resample() const noexcept { return resample_; }
  /// The rule reads no clock of another node, so nodes do not send their clocks.
  virtual bool blind() const { return false; }
  /// Decides for the peer of `view`. An error ends the simulation.
  virtual Status decide(const PeerView& view, Decision& out) = 0;

 private:
  uint32_t beta_;
  Resample resample_;
};

std::unique_ptr<PeerRule> make_peer_rule(const NativeRule& rule);
/// Makes the form for a rule of actor.barrier, which must be able to decide from partial knowledge
/// (BarrierRule::decide_partly) and must outlive the result. `beta` and `resample` are the parameters of the rule's
/// outermost sample.
std::unique_ptr<PeerRule> make_peer_rule(BarrierRule& rule, uint32_t beta, Resample resample);

}  // namespace actorhost
