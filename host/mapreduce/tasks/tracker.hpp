#pragma once
// Decides which tasks may run, which worker runs each, and what has to be made again when a process is lost. There is
// one in a run, beside the data service of the rendezvous host. A passive state machine: frames, memberships and the
// time go in, frames come out of `take_frames`; the sender fills in `src`. One thread.
//
// An action begins with the first `begin` for its number. It is over when all outputs of the final stage are there, or
// with an error; every worker that has begun it is told, and so is each that begins it later. Several actions may be
// known at a time, since a worker that has its result goes on while others still fetch theirs.
//
// A worker is through with an action when it has said so or has begun a later one. When all live workers are through,
// the action is dropped, and all that it has made is forgotten everywhere, except what is kept. A worker that comes to
// the action after that brings the plan along, and what it needs is made again. Kept outputs are forgotten when one
// worker has said, as it began an action, that its script no longer asks for them (all scripts are the same), and all
// others have begun that action too.

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

/// For how many seconds a task waits for a worker of its home that is about to ask for one, while other workers have
/// nothing to do. For a worker that has not begun the action the time counts from the action's beginning (workers leave
/// an action within milliseconds of each other); for a worker between two tasks, from its last message.
inline constexpr double kHomePatience = 0.1;

/// For how many seconds workers wait for a task before the log says so.
inline constexpr double kSilentWait = 10;

/// How far an action is, for a status line.
struct TrackerProgress {
  uint32_t action = 0;
  StageId stage = 0;  // the first one of which a task runs, else the final one
  std::string name;
  uint32_t tasks = 0;
  uint32_t done = 0;  // outputs that are there
  uint32_t running = 0;
  uint32_t stage_index = 0;  // of `stages` in the plan
  uint32_t stages = 0;
  uint64_t rows = 0;  // read by the counted tasks of the stage
  uint64_t bytes = 0;
};

/// A stage of an action, for those who look into the run.
struct StageRow {
  uint32_t action = 0;
  uint32_t stage = 0;  // its place in the action
  std::string name;
  std::string where;  // "job.lua:12"
  uint32_t tasks = 0;
  uint32_t done = 0;  // outputs that are there, or were when the action was over
  uint32_t running = 0;
  double seconds = 0;  // since its first task began, to the end of the last one once all are done
  uint64_t rows = 0;   // that its tasks have read
  uint64_t bytes = 0;
};

class Tracker {
 public:
  Tracker(Log& log, MembershipPtr membership);

  /// Kinds 0x0400 to 0x040f. Whatever does not fit is logged and ignored.
  void handle(Frame&& frame, double now);
  void membership_changed(MembershipPtr newest, double now);
  /// To be called at `wake_at`, or whenever.
  void tick(double now);
  double wake_at() const noexcept { return wake_at_; }

  std::vector<Frame> take_frames() { return std::exchange(out_, {}); }
  /// Of the newest action that is not over.
  std::optional<TrackerProgress> progress() const;
  /// Stages of the newest actions, over or not; of those that are not, all that have begun.
  std::deque<StageRow> stages(double now) const;
  /// How many actions some live worker is not through with.
  size_t actions() const noexcept { return actions_.size(); }
  const OutputPlaces& places() const noexcept { return places_; }

 private:
  struct Worker {
    ProcessId process = kNoProcess;
    uint64_t through = 0;  // actions below this number are past for it
    std::optional<uint32_t> action;
    std::optional<TaskRef> running;
    uint32_t attempt = 0;
    bool idle = false;
    double spoke = 0;                  // when it has last said anything
    double handed = 0;                 // when it got the task that it is running
    uint32_t overs = 0;                // of the action, sent to it
    uint32_t overs_seen = 0;           // of those, named by its newest want
    uint64_t seen = 0;                 // the places' clock when it was last told something
    std::map<StageId, uint32_t> told;  // versions of the places of stages, in this action
  };
  using Actions = std::map<uint32_t, ActionRun>;

  void dispatch(NodeId id, Worker& worker, const Frame& frame, double now);
  void on_begin(NodeId id, Worker& worker, const Frame& frame, double now);
  void look_again(ActionRun& run, double now);
  ActionRun* open(uint32_t number, PlanBegin&& begin, NodeId id, double now);
  void on_want(NodeId id, Worker& worker, const Frame& frame, double now);
  void on_done(Worker& worker, const Frame& frame, double now);
  void on_failed(NodeId id, Worker& worker, const Frame& frame, double now);
  void on_task_failed(NodeId id, ActionRun& run, TaskRef ref, const TaskFailed& failed, uint32_t number, double now);
  bool has_room(const ActionRun& run, ProcessId process) const;
  void on_result_lost(NodeId id, uint32_t number, ActionRun& run, const TaskFailed& failed, double now);
  void on_finished(Worker& worker, uint32_t number);
  void on_skipped(Worker& worker, const Frame& frame);
  bool drop_outputs(const std::vector<StageId>& stages, const std::vector<LostInput>& lost, uint64_t seen);
  void spoil_others(StageId stage, const ActionRun* except);
  std::optional<TaskRef> take_running(const ActionRun& run, Worker& worker, const TaskName& name);

  void add_worker(const Member& member);
  void leave(Worker& worker);
  std::optional<std::pair<uint32_t, Error>> lose_worker(Worker& worker, const std::string& who);
  void settle(double now);
  void serve(uint32_t number, ActionRun& run, double now);
  void complain(uint32_t number, ActionRun& run, double now);
  std::map<ProcessId, double> workers_to_come(uint32_t number, const ActionRun& run) const;
  void hand_out(uint32_t number, ActionRun& run, NodeId id, Worker& worker, TaskRef ref, double now);
  void end(uint32_t number, ActionRun& run, const Error& error, double now);
  void tell(uint32_t number, const ActionRun& run);
  void send_over(uint32_t number, const ActionRun& run, NodeId id, Worker& worker);
  void refuse(NodeId id, uint32_t number, const Error& error);
  void drop_actions();
  bool drop_oldest();
  void forget(uint32_t number, const ActionRun& run);
  static void add_stages(uint32_t number, const ActionRun& run, double now, std::deque<StageRow>& out);
  void remember(uint32_t number, const ActionRun& run);
  void release();
  void send_forget(const std::vector<StageId>& stages, uint32_t number);
  bool needed_by_others(StageId stage, std::optional<uint32_t> number) const;
  void ignore(const Frame& frame, const std::string& why) const;

  Log& log_;
  MembershipPtr membership_;
  OutputPlaces places_;
  std::map<NodeId, Worker> workers_;
  uint64_t next_worker_ = 0;  // no worker has had this number or a higher one
  std::deque<Frame> early_;   // from workers that the membership does not have yet
  Actions actions_;
  std::set<StageId> unusable_;              // kept once; a worker late for an earlier action may have them made again
  std::map<StageId, uint32_t> to_release_;  // of those, still here: the action from which on they are not asked for
  double wake_at_;
  std::vector<Frame> out_;
  std::deque<StageRow> past_;  // of actions that are forgotten, the newest
};

}  // namespace actorhost
