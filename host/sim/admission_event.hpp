#pragma once
// Admission for pbsp and pssp that draw a new sample at every event. Decides with the same distribution, without
// drawing samples. Let b of P nodes be below a waiter's threshold. The waiter passes at an event with probability
// p(b) = C(P-b, beta) / C(P, beta). The trials are independent of other waiters and of the past, since each event
// brings a new sample.
// All waiters at one step share p, and n trials fail with probability exp(n log(1-p)). So the next waiter to pass is
// found by adding -log(1-p) for each failed trial until the sum exceeds an exponentially distributed number. An event
// costs O(distinct steps of waiters), and only a pass draws a random number. For one seed, single decisions differ from
// the decisions of the resampling rule; the distribution is the same (tests/host/sim).

#include <vector>

#include "host/base/random.hpp"
#include "host/sim/admission.hpp"

namespace actorhost {

class EventAdmission final : public Admission {
 public:
  EventAdmission(const Clocks& clocks, uint32_t beta, int32_t staleness, uint64_t seed);

  void joined(NodeId id) override;
  void left(NodeId id) override;
  void completed(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;

 private:
  /// -log(1 - p) when `behind` nodes are below the threshold.
  double hazard(uint32_t behind);
  void reach(int32_t step);
  void try_group(size_t step, std::vector<NodeId>& passed);
  uint32_t behind(size_t step) const noexcept;

  uint32_t beta_;
  int32_t staleness_;
  Rng rng_;
  double fuse_;
  bool changed_ = false;                     // an event since the last decide: only events bring new samples
  std::vector<std::vector<NodeId>> groups_;  // waiters, by step
  std::vector<uint32_t> below_;              // by step: how many nodes have completed fewer steps
  size_t lowest_ = 0;                        // no waiter is below this step
  std::vector<double> hazards_;              // by nodes behind, for hazards_size_ nodes; NaN: not computed yet
  uint32_t hazards_size_ = 0;
};

}  // namespace actorhost
