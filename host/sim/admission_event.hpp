#pragma once
// pbsp and pssp that draw again at every event: the same distribution of decisions, without drawing samples. When b of
// P nodes have not reached a waiter's threshold, it passes at an event with probability p(b) = C(P-b, beta) / C(P,
// beta), independently of the other waiters and of the past, since each event brings a fresh sample. Waiters of one
// step share p, so the next one to pass is found by counting failed trials until an exponentially distributed number of
// them is used up: n trials fail with probability exp(n log(1-p)). An event costs O(distinct steps of waiters); a
// number is drawn for each pass only. For one seed the decisions differ from those of the redrawing rule, but their
// distribution is the same (tests/host/sim).

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
  /// -log(1 - p) when `behind` of the nodes are below the threshold.
  double hazard(uint32_t behind);
  void reach(int32_t step);
  void try_group(size_t step, std::vector<NodeId>& passed);
  uint32_t behind(size_t step) const noexcept;

  uint32_t beta_;
  int32_t staleness_;
  Rng rng_;
  double fuse_;
  bool changed_ = false;                     // an event since the last decide: only those bring fresh samples
  std::vector<std::vector<NodeId>> groups_;  // the waiters by their step
  std::vector<uint32_t> below_;              // by step: how many nodes have completed fewer
  size_t lowest_ = 0;                        // no waiter below this step
  std::vector<double> hazards_;              // by how many are behind, of hazards_size_ nodes; NaN: not known yet
  uint32_t hazards_size_ = 0;
};

}  // namespace actorhost
