#pragma once
// The tracker's state of one action: its plan, its tasks, their reports and failures, and its outcome. Owned by the
// tracker and used on its thread; `now` is in seconds on the tracker's clock.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/mapreduce/tasks/mapreduce_messages.hpp"
#include "host/mapreduce/tasks/task_board.hpp"

namespace actorhost {

/// A task with this many failures ends the action.
inline constexpr uint32_t kMaxFailures = 3;
/// A task during which this many processes have failed ends the action: the task itself may crash them.
inline constexpr uint32_t kMaxProcesses = 3;
/// A task that could not read its inputs this many times, for at least this many seconds, ends the action: some process
/// has a broken disk. (A broken link removes a process from the run much sooner.)
inline constexpr uint32_t kMaxLostInputs = 20;
inline constexpr double kLostInputsPatience = 10;

class ActionRun : private NonCopyable {
 public:
  /// All stages of the plan are open in `places`, which outlives the action. `worker_name`: the worker that sent the
  /// plan.
  ActionRun(PlanBegin begin, std::string worker_name, OutputPlaces& places, double now);

  const Plan& plan() const noexcept { return begin_.plan; }
  const std::string& where() const noexcept { return begin_.where; }
  const std::string& opened_by() const noexcept { return opened_by_; }
  double began() const noexcept { return began_; }
  TaskBoard& board() noexcept { return board_; }
  const TaskBoard& board() const noexcept { return board_; }

  /// Records that the task starts another attempt, and returns its order. `known_versions` has the versions of the
  /// places that the worker knows, by stage.
  TaskOrder assign(TaskRef ref, std::map<StageId, uint32_t>& known_versions, double now);
  /// Records the report of a task with a new output. Code::bad_data when the accumulators exceed their limit.
  Status count(TaskRef ref, TaskReport report, double now);
  /// The task's worker does not work on it any more.
  void lost(TaskRef ref) { ++figures_[ref.stage].failures; }
  // Failures on a worker. Each returns an error when the failure ends the action. When a process has failed, the
  // tracker also calls `lost` for its task.
  std::optional<Error> process_lost(TaskRef ref, const std::string& worker_name);
  std::optional<Error> failed(TaskRef ref, const Error& error, const std::string& worker_name);
  /// Records that a process has no room for a task, which is not a failure of the task.
  void process_full(TaskRef ref, ProcessId process) {
    ++figures_[ref.stage].failures;
    full_processes_.insert(process);
  }
  bool is_full(ProcessId process) const { return full_processes_.contains(process); }
  std::optional<Error> input_lost(TaskRef ref, const Error& error, const std::string& worker_name, double now);
  std::optional<Error> result_lost(const Error& error, const std::string& worker_name, double now);

  bool ended() const noexcept { return outcome_.has_value(); }
  bool succeeded() const noexcept { return ended() && succeeded_; }
  /// Whether no task of this action has failed with this message before.
  bool is_first_occurrence(const std::string& message) { return messages_.insert(message).second; }
  void end_with_result(double now);
  void end_with_error(const Error& error, double now);
  /// Whether the action has ended well but the final stage's outputs have changed since.
  bool outdated() const;
  /// Outputs of the final stage are lost, and some worker has yet to fetch them.
  void reopen() { outcome_.reset(); }
  /// The `outcome` message for that worker.
  Frame outcome_frame(Address worker) const;

  /// Returns false the first time after a task was assigned; the tracker then logs a long wait.
  bool mark_wait_logged() { return std::exchange(wait_logged_, true); }
  bool may_log_wait() const noexcept { return !wait_logged_; }

  /// "stage 4 (map, reduce_by_key), task 3 of 8"
  std::string task_text(TaskRef ref) const;
  const StageFigures& figures(uint32_t stage) const { return figures_[stage]; }
  /// Whether a task of this stage was assigned.
  bool touched(uint32_t stage) const { return figures_[stage].runs != 0; }

 private:
  struct Task {
    uint32_t attempts = 0;
    uint32_t failures = 0;
    uint32_t lost_inputs = 0;
    uint32_t lost_processes = 0;
    bool counted = false;
  };
  struct FirstError {
    Error error;
    std::string worker_name;
    double time = 0;
  };

  Task& task(TaskRef ref) { return tasks_[ref.stage][ref.task]; }
  TaskInput input_of(TaskRef ref, const PlanDependency& need, std::map<StageId, uint32_t>& known_versions) const;
  const FirstError& first_error(std::map<TaskRef, FirstError>& errors, TaskRef ref, const Error& error,
                                const std::string& worker_name, double now);
  void end(ActionOutcome outcome, double now);

  PlanBegin begin_;
  std::string opened_by_;
  OutputPlaces& places_;
  double began_;
  TaskBoard board_;
  std::vector<std::vector<Task>> tasks_;
  std::vector<StageFigures> figures_;
  std::map<TaskRef, Blob> accumulators_;
  size_t accumulator_bytes_ = 0;
  std::map<TaskRef, FirstError> errors_;
  std::map<TaskRef, FirstError> input_errors_;
  std::map<TaskRef, std::string> lost_workers_;  // by task, the workers that failed while they ran it
  std::set<std::string> messages_;
  std::set<ProcessId> full_processes_;
  uint32_t lost_results_ = 0;
  double first_result_lost_ = 0;
  bool wait_logged_ = false;
  bool succeeded_ = false;
  uint32_t outcome_version_ = 0;  // of the final stage's outputs
  std::optional<Frame> outcome_;
};

}  // namespace actorhost
