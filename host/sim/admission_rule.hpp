#pragma once
// Admission for any rule, through the clocks and the gate of the parameter server: the rule gets the same views and
// makes the same decisions. The gate calls the rule for each waiter whenever the rule's decision may have changed.

#include "host/cluster/progress_gate.hpp"
#include "host/sim/admission.hpp"

namespace actorhost {

/// Maintains the clocks as the parameter server does. `asks_first` is described in Admission. It is false for classic
/// rules: they let every node begin at once, as their O(1) forms do.
class ProgressAdmission : public Admission {
 public:
  ProgressAdmission(const Clocks& clocks, bool asks_first) : Admission(clocks), asks_first_(asks_first) {}

  void joined(NodeId id) override;
  void left(NodeId id) override;
  bool asks_first() const noexcept override { return asks_first_; }
  void started(NodeId id, double now, uint64_t version) override;
  void completed(NodeId id, double now) override;
  void suspected(NodeId id, bool suspected) override { progress_.suspect(id, suspected); }

 protected:
  Progress progress_;

 private:
  bool asks_first_;
};

class RuleAdmission final : public ProgressAdmission {
 public:
  /// `rule` must outlive the admission.
  RuleAdmission(const Clocks& clocks, BarrierRule& rule, bool asks_first = false)
      : ProgressAdmission(clocks, asks_first), counted_(rule), gate_(progress_, counted_) {}

  void asks(NodeId id, double now) override;
  Status decide(double now, std::vector<NodeId>& passed) override;
  double next_time() override { return gate_.next_time(); }

 private:
  /// Wraps the rule and counts its decisions.
  class Counted final : public BarrierRule {
   public:
    explicit Counted(BarrierRule& rule) : rule_(rule) {}
    Status decide(const Progress& progress, std::span<const Slot> asking, double now,
                  std::span<Decision> out) override {
      checks += asking.size();
      return rule_.decide(progress, asking, now, out);
    }
    int staleness() const override { return rule_.staleness(); }
    Watch watch() const override { return rule_.watch(); }
    uint64_t version() const override { return rule_.version(); }
    uint64_t checks = 0;

   private:
    BarrierRule& rule_;
  };

  Counted counted_;
  Gate gate_;
};

}  // namespace actorhost
