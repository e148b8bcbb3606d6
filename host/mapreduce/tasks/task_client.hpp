#pragma once
// A worker's side of an action: requests its tasks, fetches their inputs from other tasks, and reports their outcome.
// Owned by the node and used on its thread; calls block, and every wait ends when the run does.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/mapreduce/rows/stream.hpp"
#include "host/mapreduce/tasks/data_service.hpp"
#include "host/mapreduce/tasks/mapreduce_messages.hpp"

namespace actorhost {

class TaskClient {
 public:
  TaskClient(Node& node, DataService& service) : node_(node), service_(service) {}

  /// Enters action number `action`; all workers enter it with the same plan. `where` is the script's line.
  Status begin(uint32_t action, Plan plan, const std::string& where);
  /// The next task; nothing when the action is over and its results exist. Returns the action's error when it has
  /// failed.
  Result<std::optional<TaskOrder>> next();
  /// Reports that the task of the last `next` is done.
  Status done(TaskReport report);
  /// Reports that the task of the last `next` has failed with `error`.
  Status failed(Error error);
  /// Reports that fetching the results has failed; call `next` again.
  Status results_failed(Error error);
  /// Whether inputs could not be fetched since the last task or failure.
  bool has_lost() const noexcept { return !lost_.empty(); }
  /// Notifies the tracker that this node has all it needs of the results.
  Status finished();
  /// Notifies the tracker that this node has the results of an action that it does not enter.
  Status skipped(uint32_t action) { return send(finished_frame(action)); }

  /// The rows of the k-th dependency of the current task. For a wide dependency `bucket` selects the bucket that all
  /// tasks read, instead of each task's own. The client outlives the stream.
  Result<std::unique_ptr<RowSource>> needed(size_t k, std::optional<uint32_t> bucket = {});
  /// The rows of the final stage, in order of tasks, or the rows of one task.
  Result<std::unique_ptr<RowSource>> results(std::optional<uint32_t> task = {});

  const Plan& plan() const noexcept { return plan_; }
  const PlanStage* stage(StageId id) const noexcept;
  /// The outcome of the action, once the tracker has sent it.
  const ActionOutcome& outcome() const noexcept { return outcome_; }
  DataService& service() noexcept { return service_; }

 private:
  class OutputSource;

  Status send(Frame&& frame);
  void record_span();
  Status send_fetch(const OutputId& output, ProcessId process, uint32_t first, uint32_t count,
                    uint32_t& request_number);
  Result<RowBlock> local_block(const OutputId& output, uint32_t index, uint32_t& of);
  Result<RowBlock> remote_block(const OutputId& output, ProcessId process, uint32_t request_number, uint32_t& of);
  Error record_loss(const OutputId& output, ProcessId process, Error error);
  Status drop_replies();

  Node& node_;
  DataService& service_;
  Plan plan_;
  uint32_t action_ = 0;
  uint32_t outcomes_ = 0;  // of this action, received
  uint32_t last_request_ = 0;
  TaskOrder order_;
  double assigned_at_ = kUnknownBegin;  // when the order arrived, if the run is recorded
  PlaceCache places_;
  ActionOutcome outcome_;
  std::vector<LostInput> lost_;
};

}  // namespace actorhost
