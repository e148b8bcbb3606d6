#pragma once
// Decides when and how the complete pushes of a run are merged. On shard 0: its commits and discards reach each shard
// in the order of the decisions. Passive; belongs to the run's ParamController.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "host/barrier/progress.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/server_requests.hpp"
#include "host/engine/param/shard.hpp"

namespace actorhost {

/// How late or surplus pushes are merged.
struct MergePolicy {
  enum class Kind : uint8_t {
    all,
    drop,    // drops pushes that are more than `later_than` steps behind the newest push
    buffer,  // merges `k` pushes as one, with their mean (Nguyen et al. 2022, FedBuff)
    scale,   // weights pushes by (1 + staleness)^-exponent
    mean     // merges the pushes of one clock as one, with their mean; for BSP
  };
  Kind kind = Kind::all;
  uint64_t later_than = 0;
  uint32_t k = 1;
  double exponent = 1;
};

class PushMerger {
 public:
  static constexpr uint64_t kAllSteps = ~uint64_t{0};

  /// `updates`: number of updates that the run had merged before it was resumed. The references outlive the merger;
  /// `progress` is notified of buffered pushes.
  PushMerger(RunId run, uint32_t shards, const MergePolicy& policy, uint64_t updates, Progress& progress,
             ParamShard& own, std::vector<Frame>& out);

  enum class Arrival {
    applied,  // the shards have merged the parts already
    staged,   // the policy merges it now
    held      // flush_staged merges it
  };
  /// The push of a step is complete.
  void on_push(NodeId worker, uint64_t step, Arrival arrival);
  /// Merges the held pushes of clocks below `below`, in (step, worker) order.
  void flush_staged(uint64_t below);
  /// Merges the pushes that the policy `buffer` has collected.
  void flush_buffered();
  bool has_buffered() const noexcept { return !buffered_.empty(); }
  /// No shard merges these pushes.
  void discard(NodeId worker, Discard::Extent extent, uint64_t step);

  /// The push of this step belongs to a numbered task.
  void set_number(NodeId worker, uint64_t step, uint64_t number) { numbers_[{worker, step}] = number; }
  /// Forgets and returns the number of an unfinished task.
  std::optional<uint64_t> take_number(NodeId worker, uint64_t step);
  /// The outcomes of numbered tasks since the last call, in their order.
  std::vector<TaskOutcome> take_outcomes() { return std::exchange(outcomes_, {}); }

  uint64_t updates() const noexcept { return updates_; }
  uint64_t dropped() const noexcept { return dropped_; }

 private:
  void merge_item(CommitItem item);
  void commit(std::vector<CommitItem> items, bool mean);
  void commit_means(const std::vector<CommitItem>& items);
  void settle(NodeId worker, uint64_t step, bool merged);

  const RunId run_;
  const uint32_t shards_;
  const MergePolicy policy_;
  Progress& progress_;
  ParamShard& own_;
  std::vector<Frame>& out_;
  std::vector<CommitItem> staged_;    // complete pushes that wait for the barrier
  std::vector<CommitItem> buffered_;  // pushes of the merge policy `buffer`
  uint64_t newest_ = 0;               // the highest clock of a push so far
  uint64_t updates_;
  uint64_t dropped_ = 0;
  std::map<std::pair<NodeId, uint64_t>, uint64_t> numbers_;  // of tasks by worker and step, until they are settled
  std::vector<TaskOutcome> outcomes_;
};

}  // namespace actorhost
