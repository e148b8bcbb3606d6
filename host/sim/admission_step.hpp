#pragma once
// A rule that gives all waiters at one step the same answer (BarrierRule::by_step) and may change it with any event. It
// is asked about one waiter of each step, for all of them. Which nodes pass when, in which order, and the count of
// checks are those of RuleAdmission.

#include "host/sim/admission_rule.hpp"

namespace actorhost {

class StepAdmission final : public ProgressAdmission {
 public:
  /// `rule`, of Watch::event, must outlive it and stays the same.
  StepAdmission(const Clocks& clocks, BarrierRule& rule, bool asks_first)
      : ProgressAdmission(clocks, asks_first), rule_(rule) {}

  void left(NodeId id) override;
  void asks(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;

 private:
  /// The waiters of one step, in the order in which they asked; at least one of them is there, the first one.
  struct Group {
    int32_t step;
    std::vector<NodeId> ids;  // those that have left are skipped: ids are never used again
    size_t first;
  };

  uint64_t ticket(NodeId id) const { return progress_.tickets()[progress_.slot(id)]; }
  uint64_t ticket(const Group& group) const { return ticket(group.ids[group.first]); }
  void pass(std::vector<NodeId>& passed);

  BarrierRule& rule_;
  std::vector<Group> groups_;  // in the order in which their first ones asked
  std::vector<Slot> asking_;   // of these
  std::vector<Decision> decisions_;
  std::vector<std::pair<uint64_t, NodeId>> passing_;
  uint64_t seen_changes_ = 0;
};

}  // namespace actorhost
