#pragma once
// Admission for bsp, ssp and asp. Stores waiting nodes by step; a node passes when the slowest node is at most
// `staleness` steps behind. O(1) an event.

#include <deque>

#include "host/sim/admission.hpp"

namespace actorhost {

class ClockAdmission final : public Admission {
 public:
  /// `staleness` of NativeRule.
  ClockAdmission(const Clocks& clocks, int32_t staleness) : Admission(clocks), staleness_(staleness) {}

  void joined(NodeId /*id*/) override {}
  void left(NodeId id) override;
  void completed(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;

 private:
  struct Waiter {
    NodeId id;
    uint64_t ticket;
  };

  std::vector<Waiter>& waiters_at(int32_t step);
  void release(std::vector<NodeId>& passed);

  int32_t staleness_;
  std::deque<std::vector<Waiter>> waiters_;  // at index i: waiters at step base_ + i
  int32_t base_ = 0;
  std::vector<NodeId> fresh_;  // completed a step since the last decide
  std::vector<Waiter> passing_;
  uint64_t tickets_ = 0;
  int32_t floor_ = 0;  // minimum clock at the last decide
  uint64_t layout_ = 0;
};

}  // namespace actorhost
