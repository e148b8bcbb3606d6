#pragma once
// A worker's side of an action: its next task, the rows that the task needs from other tasks, and the task's outcome.
// Owned by the node and used on its thread; every wait ends when the run does.

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

  /// Enters action number `action`, which all workers do with the same plan. `where` is the script's line.
  Status begin(uint32_t action, Plan plan, const std::string& where);
  /// The next task; nothing when the action is over and its results are there. The action's error when it has failed.
  Result<std::optional<TaskOrder>> next();
  /// The task that `next` gave last is done, with what it has put out.
  Status done(TaskReport report);
  /// The task that `next` gave last has failed with `error`.
  Status failed(Error error);
  /// Taking the results has failed: `next` goes on.
  Status results_failed(Error error);
  /// Whether inputs could not be had since the last task or failure.
  bool has_lost() const noexcept { return !lost_.empty(); }
  /// Tells the tracker that this node has what it needs of the results.
  Status finished();
  /// Tells the tracker that this node has the results of an action that it does not enter.
  Status skipped(uint32_t action) { return send(finished_frame(action)); }

  /// The rows that the present task needs of its k-th dependency. Of a wide one it may name another bucket than its
  /// own, which is then what all tasks read. The client outlives the stream.
  Result<std::unique_ptr<RowSource>> needed(size_t k, std::optional<uint32_t> bucket = {});
  /// The rows that the final stage has put out, in order of tasks, or those of one task.
  Result<std::unique_ptr<RowSource>> results(std::optional<uint32_t> task = {});

  const Plan& plan() const noexcept { return plan_; }
  const PlanStage* stage(StageId id) const noexcept;
  /// How the action has ended, once the tracker has said so, to all workers.
  const ActionOver& over() const noexcept { return over_; }
  DataService& service() noexcept { return service_; }

 private:
  class OutputSource;

  Status send(Frame&& frame);
  void tell_task();
  Status ask(const OutputId& output, ProcessId process, uint32_t first, uint32_t count, uint32_t& question);
  Result<RowBlock> own_block(const OutputId& output, uint32_t index, uint32_t& of);
  Result<RowBlock> far_block(const OutputId& output, ProcessId process, uint32_t question, uint32_t& of);
  Error lose(const OutputId& output, ProcessId process, Error error);
  Status drop_answers();

  Node& node_;
  DataService& service_;
  Plan plan_;
  uint32_t action_ = 0;
  uint32_t overs_ = 0;  // of this action, seen
  uint32_t questions_ = 0;
  TaskOrder order_;
  double ordered_ = kUnseen;  // when it came, where somebody wants to know
  PlaceBook places_;
  ActionOver over_;
  std::vector<LostInput> lost_;
};

}  // namespace actorhost
