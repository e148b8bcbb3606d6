#pragma once
// The tasks of one action: which are wanted, which of them may run now, and where they prefer to run. All tasks of the
// final stage are wanted. If a wanted task has no output, its missing inputs are wanted too. A wanted task is ready
// when all its inputs exist. Owned by the tracker and used on its thread.
//
// Each task counts its unmet needs. While outputs are only added, every edge of the graph is visited once: a narrow
// edge when the parent's task is done, a wide edge when the whole parent is done. When outputs vanish (`invalidate`),
// the next access rebuilds the whole board: this costs as much as an action's start, and is rare.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "host/mapreduce/tasks/output_places.hpp"
#include "host/mapreduce/tasks/plan.hpp"

namespace actorhost {

/// A task, named by its stage's place in the plan. Tasks are assigned in this order.
struct TaskRef {
  uint32_t stage = 0;
  uint32_t task = 0;
  auto operator<=>(const TaskRef&) const = default;
};

class TaskBoard {
 public:
  /// Both outlive the board; the plan has passed its check and its stages are open in `places`.
  TaskBoard(const Plan& plan, const OutputPlaces& places);

  /// A stage's place in the plan, if the plan has it.
  std::optional<uint32_t> find(StageId id) const;
  /// Whether all outputs of the final stage exist.
  bool complete() const;

  /// Records the output of a task that ran for this action.
  void record_output(TaskRef ref);
  /// The task no longer runs; it may run again if it is still wanted.
  void give_back(TaskRef ref);
  /// Outputs were added or removed in other ways.
  void invalidate() noexcept { stale_ = true; }

  /// The number of ready tasks.
  size_t ready();
  /// Starts the first ready task with that home. The home of a task is the process that holds its narrow input, else
  /// the process where it last ran.
  std::optional<TaskRef> take_at_home(ProcessId home);
  /// Starts the first ready task without a home.
  std::optional<TaskRef> take_free() { return take_at_home(kNoProcess); }
  /// Starts the last ready task of the longest queue among homes with `may(home)`.
  std::optional<TaskRef> take_from_others(const std::function<bool(ProcessId)>& may);

  uint32_t running(uint32_t stage) const { return stages_[stage].running; }
  const OutputPlaces::Stage& outputs(uint32_t stage) const { return *stages_[stage].outputs; }

 private:
  enum class State : uint8_t { idle, waiting, ready, running };
  struct Task {
    State state = State::idle;
    bool wanted = false;
    uint32_t unmet = 0;
  };
  struct Edge {
    uint32_t stage = 0;  // the other end
    bool wide = false;
    uint32_t first = 0;
  };
  struct Stage {
    const OutputPlaces::Stage* outputs = nullptr;
    std::vector<Edge> parents;
    std::vector<Edge> children;
    std::vector<Task> tasks;
    bool all_wanted = false;
    uint32_t running = 0;
  };

  Task& task(TaskRef ref) { return stages_[ref.stage].tasks[ref.task]; }
  bool has_output(TaskRef ref) const { return stages_[ref.stage].outputs->has(ref.task); }
  void refresh();
  void want_all(uint32_t stage);
  void process_pending();
  void admit(TaskRef ref);
  void satisfy_need(TaskRef ref);
  void make_ready(TaskRef ref);
  TaskRef start(std::set<TaskRef>& queue, std::set<TaskRef>::iterator at);
  ProcessId home_of(TaskRef ref) const;

  const Plan& plan_;
  const OutputPlaces& places_;
  std::vector<Stage> stages_;
  std::unordered_map<StageId, uint32_t> index_;
  std::map<ProcessId, std::set<TaskRef>> queues_;  // ready tasks by home
  size_t ready_ = 0;
  std::vector<TaskRef> pending_;
  bool stale_ = true;
};

}  // namespace actorhost
