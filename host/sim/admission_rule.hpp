#pragma once
// Admission for any rule, through the clocks and the gate of the parameter server: the rule gets the same views and
// makes the same decisions. The gate calls the rule for each waiter whenever the rule's decision may have changed.

#include <cassert>

#include "host/barrier/gate.hpp"
#include "host/sim/admission.hpp"

namespace actorhost {

/// `decides_first_step` is described in Admission. It is false for classic rules: they let every node begin at once, as
/// their O(1) forms do.
class RuleAdmission final : public Admission {
 public:
  /// `rule` must outlive the admission.
  RuleAdmission(const Clocks& clocks, BarrierRule& rule, bool decides_first_step = false)
      : Admission(clocks), counted_(rule), gate_(progress_, counted_), decides_first_step_(decides_first_step) {}

  void joined(NodeId id) override {
    [[maybe_unused]] const Status added = progress_.add(id, clocks_.step(id));
    assert(added.ok());  // ids of Clocks are new and within Progress::kMaxId (Scenario::check)
  }
  void left(NodeId id) override {
    progress_.remove(id);
    waiting_ = progress_.waiting();
  }
  bool decides_first_step() const noexcept override { return decides_first_step_; }
  void requested(NodeId id, double now) override {
    gate_.request(id, now);
    waiting_ = progress_.waiting();
  }
  void started(NodeId id, double now, uint64_t version) override {
    progress_.start(id, now);
    progress_.pulled(id, static_cast<double>(version));
  }
  void completed(NodeId id, double now) override {
    progress_.complete(id, now);
    requested(id, now);
  }
  void suspected(NodeId id, bool suspected) override { progress_.suspect(id, suspected); }
  Status decide(double now, std::vector<NodeId>& passed) override {
    Status status = gate_.poll(now, passed);
    checks_ = counted_.checks;
    waiting_ = progress_.waiting();
    return status;
  }
  double next_time() override { return gate_.next_time(); }

 private:
  /// Wraps the rule and counts its decisions.
  class Counted final : public BarrierRule {
   public:
    explicit Counted(BarrierRule& rule) : rule_(rule) {}
    Status decide(const Progress& progress, std::span<const Slot> requesters, double now,
                  std::span<Decision> out) override {
      checks += requesters.size();
      return rule_.decide(progress, requesters, now, out);
    }
    int staleness() const override { return rule_.staleness(); }
    Watch watch() const override { return rule_.watch(); }
    uint64_t version() const override { return rule_.version(); }
    uint64_t checks = 0;

   private:
    BarrierRule& rule_;
  };

  Progress progress_;
  Counted counted_;
  Gate gate_;
  bool decides_first_step_;
};

}  // namespace actorhost
