#pragma once
// What shard 0 does beyond a shard's work: it knows how far each worker is, asks the barrier rule which workers may go
// on, asks the policy (`stop`, `schedule`) whether and with which tasks, decides when staged pushes are merged, and
// ends the run. A passive state machine: arrivals and the time are handed in, `next` says what the policy has to
// decide, frames go to `out`. Used by the thread of server 0.
//
// One decision:  workers pass the barrier -> staged pushes are committed on all shards (BSP) -> checkpoint, if due
// -> stop? -> schedule -> tasks. A worker for which `schedule` has no task is parked: no worker waits for it, and
// `schedule` is asked about it again.
//
// Visibility. A worker sends its parts to other shards before the last part to shard 0; all shards live in one process,
// and frames from one process to another arrive in order. So when shard 0 has a push complete, every shard has its
// part; and a commit that shard 0 sends is at every shard before a read by a worker that was released after it. (A Lua
// `pull` on another shard may still be running then: that shard keeps the read waiting.)
//
// Checkpoints. In a run that may write checkpoints all pushes are staged, and a push that is complete is committed at
// once, or at the barrier under BSP. Commits and the cut reach each shard in the order in which shard 0 sends them, so
// a push is in a checkpoint on all shards or on none. Between the beginning of a checkpoint and its cut no push is
// committed: a Lua `pull` on another shard may still write values, and the policy saves its state.
//
// Tasks may have numbers. The coordinator reports to the policy whether the push of each numbered task was merged or
// dropped, or its worker was lost; a checkpoint contains the outcomes that were reported before its cut.

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "host/base/log.hpp"
#include "host/cluster/progress_gate.hpp"
#include "host/engine/param/barrier_board.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/shard.hpp"
#include "host/engine/param/trace.hpp"

namespace actorhost {

/// What becomes of pushes that are late or more than are wanted, beside the update itself.
struct MergePolicy {
  enum class Kind : uint8_t {
    all,
    drop,    // pushes that are more than `later_than` steps behind the newest one
    buffer,  // merged as one, with their mean, when `k` have come (Nguyen et al. 2022, FedBuff)
    scale,   // weighted by (1 + staleness)^-exponent
    mean     // those of one clock as one, with their mean; for BSP
  };
  Kind kind = Kind::all;
  uint64_t later_than = 0;
  uint32_t k = 1;
  double exponent = 1;
};

/// Checkpoints every so many steps of the slowest worker or seconds, whichever comes first (0: not by this), and at the
/// end.
struct CheckpointPlan {
  uint64_t steps = 0;
  double seconds = 0;
};

struct CoordinatorConfig {
  RunId run = 0;
  uint32_t shards = 1;
  MergePolicy merge;
  bool local_schedule = false;  // workers choose their keys
  double seconds = kForever;    // the run stops after so long
  CheckpointPlan checkpoint;
  std::vector<NodeId> members;           // live workers; BSP begins when they are all there
  RunState resumed;                      // clocks of the run that goes on, if one does
  std::optional<ParamSummary> finished;  // the run was over before the job was resumed
  ParamTrace* trace = nullptr;           // where the run is recorded, if it is; outlives the coordinator
  BarrierBoard* board = nullptr;         // for those who look into the run; outlives the coordinator
  std::string barrier;                   // the rule as the trace and the board name it
  bool filtered = false;                 // values travel through filters
  std::string push_place;                // where workers work: "push (job.lua:8)"
  double long_wait = 10;                 // seconds of a wait until the log tells of it
  bool saves = false;                    // checkpoints may be written
  bool lua_pull = false;
  std::optional<uint64_t> seed;  // of the run, for its checkpoints
  bool keeps_tasks = false;      // the policy keeps account of numbered tasks, and a checkpoint has its state
};

struct StopContext {
  uint64_t step = 0;  // completed by the slowest live worker
  uint64_t updates = 0;
  double seconds = 0;
  uint32_t workers = 0;
};

// What the policy has to decide, or is told.
struct PullRequest {
  std::vector<PullEntry>* entries = nullptr;  // valid until the answer; the values may be moved out
};
struct StopRequest {
  StopContext context;
};
struct ScheduleRequest {
  std::vector<NodeId> workers;  // in id order
};
struct LostNotice {
  NodeId worker = 0;
  std::vector<ParamEntry> entries;    // its unfinished task
  std::optional<uint64_t> task = {};  // the task's number
};
struct StateRequest {};  // the policy's state for a checkpoint, which is cut when it has been answered
struct CutRequest {
  RunState state;  // a checkpoint is begun; the server takes this shard's part at once
};
struct FinishedNotice {
  ParamSummary summary;
};
using ServerRequest = std::variant<PullRequest, StopRequest, ScheduleRequest, LostNotice, StateRequest, CutRequest,
                                   FinishedNotice, Error>;

/// What became of a numbered task.
struct TaskOutcome {
  NodeId worker = 0;
  uint64_t task = 0;
  bool merged = false;  // false: dropped by the merge policy
  friend bool operator==(const TaskOutcome&, const TaskOutcome&) = default;
};

/// "0, 2, 5"; of many the first ones and how many there are.
std::string worker_list(const std::vector<NodeId>& ids);

class ParamCoordinator {
 public:
  ParamCoordinator(const CoordinatorConfig& config, BarrierRule& rule, ParamShard& own, Log& log,
                   std::vector<Frame>& out);
  /// Writes what has been recorded of the run to its file.
  ~ParamCoordinator();
  ParamCoordinator(const ParamCoordinator&) = delete;
  ParamCoordinator& operator=(const ParamCoordinator&) = delete;

  void on_ready(NodeId id, double now);
  /// The worker's push of step `step` is complete. The worker says that it worked for so many seconds, and what it sent
  /// and got.
  void on_done(NodeId id, uint64_t step, double seconds, double now, const ParamTraffic& traffic = {});
  void on_report(const ShardReport& report);
  /// Another shard has merged all that was committed before it was asked.
  void on_settled(uint64_t checkpoint);
  /// Ends the run when its seconds are over. Called before each frame is handled, so that no later frame is merged.
  void look(double now);
  void lost(NodeId id, double now);
  void joined(NodeId id);
  void suspect(NodeId id, bool suspected) { progress_.suspect(id, suspected); }
  /// Takes another rule from the next decision on, which has to outlive the run or the next set_rule. (A rule may also
  /// become another one by itself, as its version() tells.)
  void set_rule(BarrierRule& rule) { gate_.set_rule(rule); }
  /// A checkpoint is begun at the next decision.
  void checkpoint_now() noexcept { checkpoint_asked_ = true; }
  /// A checkpoint is begun as soon as no pull runs, without waiting for a worker to pass the barrier: the process ends
  /// soon. False where nothing has been merged since the last one.
  bool last_checkpoint() noexcept {
    const bool over = phase_ == Phase::finished || phase_ == Phase::failed;
    if (over || updates_ == checkpoint_updates_) return false;
    return checkpoint_asked_ = checkpoint_pressing_ = true;
  }
  /// Whether one has been asked for and not begun.
  bool checkpoint_asked() const noexcept { return checkpoint_asked_; }
  /// Ends the run as if `stop` had said so.
  void stop(const std::string& reason) { begin_stop(reason); }

  /// What is to be decided next; nothing when there is nothing to do until a frame comes or next_time().
  std::optional<ServerRequest> next(double now);
  double next_time() const;
  void answer_stop(bool stop);
  void answer_state(CarriedValue state);
  /// Tasks by worker, and the numbers of those that have any. An error when no worker has anything to do and nothing
  /// can change that.
  Status answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                         const std::map<NodeId, uint64_t>& numbers = {});
  /// Numbered tasks that were merged or dropped since the last call, in that order.
  std::vector<TaskOutcome> take_outcomes() { return std::exchange(outcomes_, {}); }

  const Progress& progress() const noexcept { return progress_; }
  uint64_t updates() const noexcept { return updates_; }
  bool finished() const noexcept { return phase_ == Phase::finished; }
  StopContext context(double now) const;

 private:
  // How far a checkpoint is.
  enum class Cut { none, shards, state, ready };
  enum class Phase {
    running,
    merged,      // a decision has begun: what was staged is committed
    asked_stop,  // waits for answer_stop
    to_schedule,
    asked_schedule,  // waits for answer_schedule
    stopping,        // waits for the pushes that are under way
    finished,
    failed
  };
  struct Worker {
    bool ready = false;
    bool busy = false;
    bool staged = false;
    bool parked = false;
    uint64_t step = 0;                      // the first that it has not completed in this run
    double released = 0;                    // when it passed the barrier last; kept for the trace
    BarrierBoard::Worker* shown = nullptr;  // its row on the board
    std::vector<ParamEntry> task;
  };
  using Answer = std::optional<ServerRequest>;

  Answer run(double now);
  Answer decide(double now);
  Answer cut(double now);
  void send_cut(bool asks);
  Answer schedule(double now);
  Answer finish(double now);
  Answer fail(Error error);
  Answer check_stuck();
  void begin_stop(const std::string& reason);
  void drop_in_flight();
  std::vector<NodeId> parked() const;
  void release(NodeId id, std::vector<ParamEntry> entries, double now);
  void send_task(NodeId id, const Worker& worker, const std::vector<ParamEntry>& entries);
  void merge_arrived(NodeId id, uint64_t step);
  void merge_item(CommitItem item);
  void flush_staged(uint64_t below);
  void commit(std::vector<CommitItem> items, bool mean);
  void commit_means(const std::vector<CommitItem>& items);
  void flush_buffered();
  void settle(NodeId worker, uint64_t step, bool merged);
  std::optional<uint64_t> take_number(NodeId worker, uint64_t step);
  void discard(const Discard& discard);
  void send_stop(NodeId id);
  void log_traffic();
  uint64_t clock_of(NodeId id) const;
  void note_slowest();
  double elapsed(double now) const;
  bool checkpoint_due(double now) const;
  RunState state(double now);
  bool bsp() const { return gate_.rule().staleness() == 0; }
  bool somebody_to_come() const;

  // Long waits.
  std::optional<double> waiting_since() const;
  void tell_long_wait(double now);
  std::string who_waits() const;
  std::string whom_for(double now) const;

  // The trace.
  void show_gate();
  void record_begin(double now);
  void record_passed(double now);
  void record_step(NodeId id, const Worker& worker, double seconds, double now);
  void record_stop();

  CoordinatorConfig config_;
  ParamShard& own_;
  Log& log_;
  std::vector<Frame>& out_;
  ParamTrace* trace_;  // null: nothing is recorded, or the recording is over
  Progress progress_;
  Gate gate_;
  Phase phase_ = Phase::running;
  std::map<NodeId, Worker> workers_;
  std::unordered_set<NodeId> absent_;  // members of the beginning that have not come yet
  std::unordered_set<NodeId> gone_;    // ids are never used again
  std::vector<NodeId> passed_;         // through the barrier, not yet scheduled
  bool was_bsp_;
  bool offer_ = false;         // parked workers are to be asked about again
  std::vector<NodeId> asked_;  // the workers that the pending schedule request names
  uint32_t busy_ = 0;
  std::vector<CommitItem> staged_;    // complete pushes that wait for the barrier
  std::vector<CommitItem> buffered_;  // of the merge policy `buffer`
  std::vector<LostNotice> lost_;
  std::unordered_map<NodeId, uint64_t> reported_;
  uint64_t newest_ = 0;   // the highest clock of a push so far
  uint64_t slowest_ = 0;  // completed by the slowest counted worker, when there was one last
  uint64_t updates_ = 0;
  double started_ = -1;
  uint64_t checkpoints_ = 0;
  uint64_t checkpoint_step_ = 0;
  double checkpoint_time_ = 0;
  bool checkpoint_asked_ = false;
  bool checkpoint_pressing_ = false;
  uint64_t checkpoint_updates_ = 0;  // merged updates at the last one
  Cut cut_ = Cut::none;
  uint32_t unsettled_ = 0;  // shards that have not said that they have merged what was committed
  RunState cut_state_;
  std::map<std::pair<NodeId, uint64_t>, uint64_t> numbers_;  // of tasks by worker and step, until they are settled
  std::vector<TaskOutcome> outcomes_;
  bool last_cut_ = false;          // the one at the end has been made
  double latest_ = 0;              // the newest time that was handed in
  double stopped_ = 0;             // when the end was decided
  double look_at_waits_ = 0;       // when to look for long ones again
  double told_since_ = -1;         // the wait that has been told of, by its beginning
  uint64_t impossible_times_ = 0;  // that workers said they worked
  ParamSummary summary_;
};

}  // namespace actorhost
