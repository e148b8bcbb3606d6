#pragma once
// The tasks of one action: which are wanted, which of those may run now, and where they would rather run. A task of the
// final stage is wanted; so are the inputs of wanted tasks without output that no process holds. A wanted task is ready
// when all that it needs is there. The tracker's own, one thread.
//
// Each task counts its unmet needs. While outputs are only added, every edge of the graph is touched once: a narrow one
// when the task of the parent is done, a wide one when the whole parent is. When outputs vanish the whole board is set
// up anew (`spoil`), when it is next looked at: that is as much work as an action's start, and rare.

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

/// A task by its stage's place in the plan. Their order is the order in which they are handed out.
struct TaskRef {
  uint32_t stage = 0;
  uint32_t task = 0;
  auto operator<=>(const TaskRef&) const = default;
};

class TaskBoard {
 public:
  /// Both outlive the board; the plan has passed its check and its stages are open in `places`.
  TaskBoard(const Plan& plan, const OutputPlaces& places);

  /// A stage's place in the plan, if it is there.
  std::optional<uint32_t> find(StageId id) const;
  /// All outputs of the final stage are there.
  bool complete() const;

  /// The output of a task, that ran for this action, is there.
  void made(TaskRef ref);
  /// The task no longer runs; it may run again if it is still wanted.
  void give_back(TaskRef ref);
  /// Outputs have come or gone in other ways.
  void spoil() noexcept { spoilt_ = true; }

  /// How many tasks are ready.
  size_t ready();
  /// The first ready task with that home; it runs from now on. Homes of tasks: where a narrow input lies, else where it
  /// has run before.
  std::optional<TaskRef> take_at_home(ProcessId home);
  /// The first ready task without a home.
  std::optional<TaskRef> take_free() { return take_at_home(kNoProcess); }
  /// The last ready task of the home with the most of those for which `may(home)`.
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
  bool there(TaskRef ref) const { return stages_[ref.stage].outputs->has(ref.task); }
  void refresh();
  void want_all(uint32_t stage);
  void work_off();
  void admit(TaskRef ref);
  void met(TaskRef ref);
  void make_ready(TaskRef ref);
  TaskRef start(std::set<TaskRef>& queue, std::set<TaskRef>::iterator at);
  ProcessId home_of(TaskRef ref) const;

  const Plan& plan_;
  const OutputPlaces& places_;
  std::vector<Stage> stages_;
  std::unordered_map<StageId, uint32_t> index_;
  std::map<ProcessId, std::set<TaskRef>> queues_;  // ready ones by home
  size_t ready_ = 0;
  std::vector<TaskRef> to_want_;
  bool spoilt_ = true;
};

}  // namespace actorhost
