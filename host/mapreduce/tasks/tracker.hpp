#pragma once
// Schedules the tasks of map-reduce: decides which tasks may run, which worker runs each, and which are rerun after a
// process has failed. A run has one tracker, owned by the data service of the coordinator. Passive (driven by its
// owner): inputs are frames, memberships and the time; `take_frames` returns the output frames. The sender fills in
// `src`. One thread at a time.
//
// An action begins with the first `begin` for its number. It is over when all outputs of the final stage exist, or with
// an error. The tracker notifies every worker that has begun the action, and each worker that begins it later. Several
// actions may be open at a time, since a worker with its result continues while others still fetch theirs.
//
// A worker is through with an action when it has reported so or has begun a later action. When all live workers are
// through, the tracker drops the action, and all processes forget its outputs except kept outputs. A worker that begins
// the action later sends the plan again, and missing outputs are recomputed. Kept outputs are forgotten when one worker
// has reported, in its `begin`, that its script no longer uses them (all scripts are the same), and all others have
// begun that action too.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/log.hpp"
#include "host/cluster/membership.hpp"
#include "host/mapreduce/tasks/action_run.hpp"

namespace actorhost {

/// How many seconds a task waits for a worker of its home, while workers elsewhere are idle. For a worker that has not
/// begun the action the time counts from the action's beginning (workers leave an action within milliseconds of each
/// other); for a worker between two tasks it counts from its last message.
inline constexpr double kHomePatience = 0.1;

/// How many seconds workers wait for a task before the tracker logs the wait.
inline constexpr double kSilentWait = 10;

/// The progress of an action, for a status line.
struct TrackerProgress {
  uint32_t action = 0;
  StageId stage = 0;  // the first stage with a running task, else the final stage
  std::string name;
  uint32_t tasks = 0;
  uint32_t done = 0;  // existing outputs
  uint32_t running = 0;
  uint32_t stage_index = 0;  // of `stages` in the plan
  uint32_t stages = 0;
  uint64_t rows = 0;  // read by the counted tasks of the stage
  uint64_t bytes = 0;
};

/// A stage of an action, for observers.
struct StageRow {
  uint32_t action = 0;
  uint32_t stage = 0;  // its place in the action
  std::string name;
  std::string where;  // "job.lua:12"
  uint32_t tasks = 0;
  uint32_t done = 0;  // outputs that exist, or existed when the action was over
  uint32_t running = 0;
  double seconds = 0;  // from the start of its first task; to the end of the last task once all are done
  uint64_t rows = 0;   // read by its tasks
  uint64_t bytes = 0;
};

class Tracker {
 public:
  Tracker(Log& log, MembershipPtr membership);

  /// Kinds 0x0400 to 0x040f. Unexpected frames are logged and ignored.
  void handle(Frame&& frame, double now);
  void membership_changed(MembershipPtr newest, double now);
  /// Called at `wake_at`, or at any time.
  void tick(double now);
  double wake_at() const noexcept { return wake_at_; }

  std::vector<Frame> take_frames() { return std::exchange(out_, {}); }
  /// Of the newest action that is not over.
  std::optional<TrackerProgress> progress() const;
  /// Stages of the newest actions, over or not. An unfinished action shows only stages with started tasks.
  std::deque<StageRow> stages(double now) const;
  /// The number of actions that some live worker is not through with.
  size_t actions() const noexcept { return actions_.size(); }
  const OutputPlaces& places() const noexcept { return places_; }

 private:
  struct Worker {
    ProcessId process = kNoProcess;
    uint64_t finished_below = 0;  // the worker is through with all actions below this number
    std::optional<uint32_t> action;
    std::optional<TaskRef> running;
    uint32_t attempt = 0;
    bool idle = false;
    double last_message = 0;                     // the time of its last message
    double assigned_at = 0;                      // when it received its current task
    uint32_t outcomes = 0;                       // of the action, sent to it
    uint32_t outcomes_acknowledged = 0;          // of these, acknowledged by its last `request`
    uint64_t seen = 0;                           // the clock of the places at the last message to it
    std::map<StageId, uint32_t> known_versions;  // versions of the places of stages, in this action
  };
  using Actions = std::map<uint32_t, ActionRun>;

  void dispatch(NodeId id, Worker& worker, const Frame& frame, double now);
  void on_begin(NodeId id, Worker& worker, const Frame& frame, double now);
  void recheck_result(ActionRun& run, double now);
  ActionRun* open(uint32_t number, PlanBegin&& begin, NodeId id, double now);
  void on_request(NodeId id, Worker& worker, const Frame& frame, double now);
  void on_done(Worker& worker, const Frame& frame, double now);
  void on_failed(NodeId id, Worker& worker, const Frame& frame, double now);
  void on_task_failed(NodeId id, ActionRun& run, TaskRef ref, const TaskFailed& failed, uint32_t number, double now);
  bool has_room(const ActionRun& run, ProcessId process) const;
  void on_result_lost(NodeId id, uint32_t number, ActionRun& run, const TaskFailed& failed, double now);
  void on_finished(Worker& worker, uint32_t number);
  void on_skipped(Worker& worker, const Frame& frame);
  bool drop_outputs(const std::vector<StageId>& stages, const std::vector<LostInput>& lost, uint64_t seen);
  void invalidate_others(StageId stage, const ActionRun* except);
  std::optional<TaskRef> take_running(const ActionRun& run, Worker& worker, const TaskAttemptId& name);

  void add_worker(const Member& member);
  void leave(Worker& worker);
  std::optional<std::pair<uint32_t, Error>> remove_worker(Worker& worker, const std::string& worker_name);
  void advance(double now);
  void serve(uint32_t number, ActionRun& run, double now);
  void log_long_wait(uint32_t number, ActionRun& run, double now);
  std::map<ProcessId, double> awaited_processes(uint32_t number, const ActionRun& run) const;
  void assign(uint32_t number, ActionRun& run, NodeId id, Worker& worker, TaskRef ref, double now);
  void end(uint32_t number, ActionRun& run, const Error& error, double now);
  void send_outcomes(uint32_t number, const ActionRun& run);
  void send_outcome(uint32_t number, const ActionRun& run, NodeId id, Worker& worker);
  void refuse(NodeId id, uint32_t number, const Error& error);
  void drop_actions();
  bool drop_oldest();
  void forget(uint32_t number, const ActionRun& run);
  static void add_stages(uint32_t number, const ActionRun& run, double now, std::deque<StageRow>& out);
  void archive(uint32_t number, const ActionRun& run);
  void release();
  void send_forget(const std::vector<StageId>& stages, uint32_t number);
  bool needed_by_others(StageId stage, std::optional<uint32_t> number) const;
  void ignore(const Frame& frame, const std::string& reason) const;

  Log& log_;
  MembershipPtr membership_;
  OutputPlaces places_;
  std::map<NodeId, Worker> workers_;
  uint64_t next_worker_ = 0;  // greater than the number of every worker so far
  std::deque<Frame> early_;   // from workers that the membership does not have yet
  Actions actions_;
  std::set<StageId> unusable_;              // once kept; a worker late for an earlier action may recompute them
  std::map<StageId, uint32_t> to_release_;  // unusable stages still stored, and the first action without them
  double wake_at_;
  std::vector<Frame> out_;
  std::deque<StageRow> past_;  // of forgotten actions, the newest
};

}  // namespace actorhost
