#pragma once
// Merges the complete pushes of a run as the merge rule decides. On shard 0: its commits and discards reach each shard
// in the order of the decisions. Passive; belongs to the run's ParamController.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/barrier/progress.hpp"
#include "host/engine/param/merge_rule.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/server_requests.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

class PushMerger {
 public:
  static constexpr uint64_t kAllSteps = ~uint64_t{0};

  /// `updates`: number of updates that the run had merged before it was resumed. The references outlive the merger;
  /// `progress` is notified of held pushes.
  PushMerger(RunId run, uint32_t shards, MergeRule& rule, uint64_t updates, Progress& progress, ParamShard& own,
             std::vector<Frame>& out);

  enum class Arrival {
    applied,   // the shards have merged the parts already
    complete,  // the rule decides now
    staged     // flush_staged asks the rule
  };
  /// Whether pushes that begin now must be stored, because the rule may not merge them at once.
  bool stages() const { return !rule_.merges_all() || !held_.empty(); }
  /// Whether a push that begins now must be copied, because the rule may merge it after the worker's next step.
  bool copies() const { return rule_.keeps_pushes() || !held_.empty(); }
  /// The worker begins a step with the current version of the model.
  void begin_step(NodeId worker) { begun_[worker] = version_; }
  /// The version with which the worker began its step.
  uint64_t begun(NodeId worker) const {
    const auto found = begun_.find(worker);
    return found == begun_.end() ? 0 : found->second;
  }
  /// The push of a step is complete. `uncopied`: the worker's bytes were not copied. A push that began so is merged
  /// unchanged if the rule has been replaced by a rule that keeps pushes.
  void on_push(NodeId worker, uint64_t step, Arrival arrival, bool uncopied, double now);
  /// Asks the rule about the staged pushes of clocks below `below`, in (step, worker) order.
  void flush_staged(uint64_t below, double now);
  /// No push will follow: the rule decides about the pushes that it holds.
  void finish(double now);
  using PushName = std::pair<NodeId, uint64_t>;  // worker, step
  /// The pushes that the rule holds.
  const std::set<PushName>& held() const noexcept { return held_; }
  std::string rule_label() const { return rule_.label(); }
  /// When the rule began to hold pushes without merging any.
  double held_since() const noexcept { return held_since_; }
  /// No shard merges these pushes.
  void discard(NodeId worker, Discard::Extent extent, uint64_t step);
  /// The rule's failure, once: the run cannot continue.
  std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

  /// The push of this step belongs to a numbered task.
  void set_number(NodeId worker, uint64_t step, uint64_t number) { numbers_[{worker, step}] = number; }
  /// Forgets and returns the number of an unfinished task.
  std::optional<uint64_t> take_number(NodeId worker, uint64_t step);
  /// The outcomes of numbered tasks since the last call, in their order.
  std::vector<TaskOutcome> take_outcomes() { return std::exchange(outcomes_, {}); }

  uint64_t updates() const noexcept { return updates_; }
  uint64_t dropped() const noexcept { return dropped_; }

 private:
  uint64_t slowest_with(NodeId worker, uint64_t step) const;
  void decide(MergeRequest request, bool copies, double now);
  void apply(const Status& decided, MergeDecision decision, double now);
  void commit(std::vector<CommitItem> items, Combination combination = {});
  void settle(NodeId worker, uint64_t step, bool merged);

  const RunId run_;
  const uint32_t shards_;
  MergeRule& rule_;
  Progress& progress_;
  ParamShard& own_;
  std::vector<Frame>& out_;
  std::vector<MergeRequest> staged_;  // complete pushes that wait for the barrier
  std::set<PushName> held_;
  double held_since_ = 0;
  uint64_t newest_ = 0;  // the highest clock of a push so far
  uint64_t version_;     // updates of the model
  uint64_t updates_;     // merged pushes
  uint64_t dropped_ = 0;
  std::map<NodeId, uint64_t> begun_;                         // the version with which each worker began its step
  std::map<std::pair<NodeId, uint64_t>, uint64_t> numbers_;  // of tasks by worker and step, until they are settled
  std::vector<TaskOutcome> outcomes_;
  std::optional<Error> error_;
};

}  // namespace actorhost
