#pragma once
// Admission for a rule that gives all waiters at one step the same decision (BarrierRule::by_step) and may change that
// decision at any event. Calls the rule for one waiter of each step and applies the decision to all waiters of the
// step. Passing nodes, their order and the count of checks equal those of RuleAdmission.

#include "host/sim/admission_rule.hpp"

namespace actorhost {

class StepAdmission final : public ProgressAdmission {
 public:
  /// `rule` must have Watch::event, outlive the admission and not change.
  StepAdmission(const Clocks& clocks, BarrierRule& rule, bool decides_first_step)
      : ProgressAdmission(clocks, decides_first_step), rule_(rule) {}

  void left(NodeId id) override;
  void requested(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;

 private:
  /// The waiters of one step, in the order of their requests. ids[first] is still counted.
  struct Group {
    int32_t step;
    std::vector<NodeId> ids;  // departed nodes are skipped: ids are never reused
    size_t first;
  };

  uint64_t ticket(NodeId id) const { return progress_.tickets()[progress_.slot(id)]; }
  uint64_t ticket(const Group& group) const { return ticket(group.ids[group.first]); }
  void pass(std::vector<NodeId>& passed);

  BarrierRule& rule_;
  std::vector<Group> groups_;        // in the order of their first waiters' requests
  std::vector<Slot> first_waiters_;  // the first waiter of each group
  std::vector<Decision> decisions_;
  std::vector<std::pair<uint64_t, NodeId>> passing_;
  uint64_t seen_changes_ = 0;
};

}  // namespace actorhost
