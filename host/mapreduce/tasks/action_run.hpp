#pragma once
// One action as the tracker knows it: its plan, its tasks, what they have reported, how often they have failed, and how
// it has ended. The tracker's own, one thread; `now` is in seconds on the tracker's clock.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/mapreduce/tasks/mapreduce_messages.hpp"
#include "host/mapreduce/tasks/task_board.hpp"

namespace actorhost {

/// A task that has failed so many times ends the action.
inline constexpr uint32_t kMaxFailures = 3;
/// So does a task during which so many processes were lost: it may be the task that ends them.
inline constexpr uint32_t kMaxProcesses = 3;
/// So does a task whose inputs could not be read so many times, for at least so many seconds: some process has a broken
/// disk. (A broken link takes one of its ends out of the run much sooner.)
inline constexpr uint32_t kMaxLostInputs = 20;
inline constexpr double kLostInputsPatience = 10;

class ActionRun {
 public:
  /// All stages of the plan are open in `places`, which outlives this. `who` is the worker that brought the plan.
  ActionRun(PlanBegin begin, std::string who, OutputPlaces& places, double now);
  ActionRun(const ActionRun&) = delete;
  ActionRun& operator=(const ActionRun&) = delete;

  const Plan& plan() const noexcept { return begin_.plan; }
  const std::string& where() const noexcept { return begin_.where; }
  const std::string& opened_by() const noexcept { return who_; }
  double began() const noexcept { return began_; }
  TaskBoard& board() noexcept { return board_; }
  const TaskBoard& board() const noexcept { return board_; }

  /// The task is handed out once more. `told` is what versions of the places of whole stages the worker knows.
  TaskOrder hand_out(TaskRef ref, std::map<StageId, uint32_t>& told, double now);
  /// Its output, which was not there before, is there. Code::bad_data when the accumulators have become too many.
  Status count(TaskRef ref, TaskReport report, double now);
  /// Its worker does not work on it any more.
  void lost(TaskRef ref) { ++figures_[ref.stage].failures; }
  // What has gone wrong on `who`. Each returns the error that ends the action, once it does. Where a process is lost,
  // `lost` is called for its task as well.
  std::optional<Error> process_lost(TaskRef ref, const std::string& who);
  std::optional<Error> failed(TaskRef ref, const Error& error, const std::string& who);
  /// A process has no room for a task, which is no failure of the task.
  void short_of_room(TaskRef ref, ProcessId process) {
    ++figures_[ref.stage].failures;
    short_of_room_.insert(process);
  }
  bool is_short_of_room(ProcessId process) const { return short_of_room_.contains(process); }
  std::optional<Error> input_lost(TaskRef ref, const Error& error, const std::string& who, double now);
  std::optional<Error> result_lost(const Error& error, const std::string& who, double now);

  bool over() const noexcept { return over_.has_value(); }
  bool over_well() const noexcept { return over() && well_; }
  /// Whether no task of this action has failed with this message before.
  bool is_news(const std::string& message) { return messages_.insert(message).second; }
  void end_well(double now);
  void end_badly(const Error& error, double now);
  /// It has ended well, but the final stage's outputs have changed since.
  bool outdated() const;
  /// Outputs of the final stage are gone, and some worker has yet to fetch them.
  void reopen() { over_.reset(); }
  /// How it has ended, for that worker.
  Frame over_frame(Address worker) const;

  /// False the first time after a task was handed out: then a long wait is worth a line in the log.
  bool has_complained() { return std::exchange(complained_, true); }
  bool may_complain() const noexcept { return !complained_; }

  /// "stage 4 (map, reduce_by_key), task 3 of 8"
  std::string task_text(TaskRef ref) const;
  const StageFigures& figures(uint32_t stage) const { return figures_[stage]; }
  /// Whether a task of this stage was handed out.
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
    std::string who;
    double time = 0;
  };

  Task& task(TaskRef ref) { return tasks_[ref.stage][ref.task]; }
  TaskInput input_of(TaskRef ref, const PlanDependency& need, std::map<StageId, uint32_t>& told) const;
  const FirstError& first_error(std::map<TaskRef, FirstError>& errors, TaskRef ref, const Error& error,
                                const std::string& who, double now);
  void end(ActionOver over, double now);

  PlanBegin begin_;
  std::string who_;
  OutputPlaces& places_;
  double began_;
  TaskBoard board_;
  std::vector<std::vector<Task>> tasks_;
  std::vector<StageFigures> figures_;
  std::map<TaskRef, Blob> accumulators_;
  size_t accumulator_bytes_ = 0;
  std::map<TaskRef, FirstError> errors_;
  std::map<TaskRef, FirstError> input_errors_;
  std::map<TaskRef, std::string> victims_;  // the worker that was lost with that task
  std::set<std::string> messages_;
  std::set<ProcessId> short_of_room_;
  uint32_t lost_results_ = 0;
  double first_result_lost_ = 0;
  bool complained_ = false;
  bool well_ = false;
  uint32_t over_version_ = 0;  // of the final stage's outputs
  std::optional<Frame> over_;
};

}  // namespace actorhost
