#pragma once
// The additional work of shard 0 in a run: tracks the clock of each worker, evaluates the barrier rule, requests the
// policy's decisions (`stop`: whether the run ends; `schedule`: the next tasks), commits staged pushes, and ends the
// run. Passive: the owner hands in arrivals and the time, `next` returns the next decision that the policy must make,
// and frames go to `out`. Used by the thread of server 0.
//
// One decision:  workers pass the barrier -> staged pushes are committed on all shards (BSP) -> checkpoint, if due
// -> stop? -> schedule -> tasks. `schedule` parks a worker by giving it no task. No worker waits for a parked worker,
// and later `schedule` requests name the parked worker again.
//
// Visibility. A worker sends its parts to the other shards before its last part to shard 0. All shards are in one
// process, and frames between two processes arrive in order. So when shard 0 has a complete push, every shard has its
// part. A commit that shard 0 sends reaches every shard before any read by a worker that shard 0 releases later. (A Lua
// `pull` on another shard may still be running then; that shard delays the read.)
//
// Checkpoints. In a run that may write checkpoints all pushes are staged. A complete push is committed at once, or at
// the barrier under BSP. Commits and the cut reach each shard in the order in which shard 0 sends them, so a checkpoint
// contains a push on all shards or on none. No push is committed between the start of a checkpoint and its cut: a Lua
// `pull` on another shard may still write values, and the policy saves its state.
//
// Tasks may have numbers. The controller reports to the policy whether the push of each numbered task was merged or
// dropped, or that its worker failed. A checkpoint contains the outcomes that were reported before its cut.

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "host/barrier/gate.hpp"
#include "host/base/log.hpp"
#include "host/cluster/look/barrier_board.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/shard.hpp"
#include "host/engine/param/trace.hpp"

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

/// When checkpoints are made: after so many steps of the slowest worker or after so many seconds, whichever is first (0
/// disables either), and at the end.
struct CheckpointPlan {
  uint64_t steps = 0;
  double seconds = 0;
};

struct ControllerConfig {
  RunId run = 0;
  uint32_t shards = 1;
  MergePolicy merge;
  bool local_schedule = false;  // workers choose their keys
  double seconds = kForever;    // the run stops after this time
  CheckpointPlan checkpoint;
  std::vector<NodeId> members;           // live workers; BSP begins when all are ready
  RunState resumed;                      // clocks of a resumed run
  std::optional<ParamSummary> finished;  // set if the run had ended before the job was resumed
  ParamTrace* trace = nullptr;           // records the run; may be null; outlives the controller
  BarrierBoard* board = nullptr;         // for observers; outlives the controller
  std::string barrier;                   // the rule's name in the trace and on the board
  bool filtered = false;                 // values pass through filters
  std::string push_place;                // the source line of `push`: "push (job.lua:8)"
  double long_wait = 10;                 // seconds of waiting until the log reports it
  bool saves = false;                    // checkpoints may be written
  bool lua_pull = false;
  std::optional<uint64_t> seed;  // of the run, stored in its checkpoints
  bool keeps_tasks = false;      // the policy keeps account of numbered tasks; checkpoints contain its state
};

struct StopContext {
  uint64_t step = 0;  // completed by the slowest live worker
  uint64_t updates = 0;
  double seconds = 0;
  uint32_t workers = 0;
};

// Decisions that the policy must make, and notices to it.
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
  std::vector<ParamEntry> entries;    // the unfinished task of the worker
  std::optional<uint64_t> task = {};  // the task's number
};
struct StateRequest {};  // requests the policy's state; the reply triggers the checkpoint's cut
struct CutRequest {
  RunState state;  // the started checkpoint; the server adds its own shard's part at once
};
struct FinishedNotice {
  ParamSummary summary;
};
using ServerRequest = std::variant<PullRequest, StopRequest, ScheduleRequest, LostNotice, StateRequest, CutRequest,
                                   FinishedNotice, Error>;

/// The outcome of a numbered task.
struct TaskOutcome {
  NodeId worker = 0;
  uint64_t task = 0;
  bool merged = false;  // false: dropped by the merge policy
  friend bool operator==(const TaskOutcome&, const TaskOutcome&) = default;
};

/// "0, 2, 5". A long list shows the first ids and the total.
std::string worker_list(const std::vector<NodeId>& ids);

class ParamController {
 public:
  ParamController(const ControllerConfig& config, BarrierRule& rule, ParamShard& own, Log& log,
                  std::vector<Frame>& out);
  /// Writes the recorded rows of the run to their file.
  ~ParamController();
  ParamController(const ParamController&) = delete;
  ParamController& operator=(const ParamController&) = delete;

  void on_ready(NodeId id, double now);
  /// The push of step `step` is complete. `seconds` and `traffic` are the worker's own measurements: its working time
  /// and its sent and received bytes.
  void on_done(NodeId id, uint64_t step, double seconds, double now, const ParamTraffic& traffic = {});
  void on_report(const ShardReport& report);
  /// Another shard reports that it has merged all commits sent before the request.
  void on_settled(uint64_t checkpoint);
  /// Ends the run when its seconds are over. The owner calls this before it handles each frame, so no later frame is
  /// merged.
  void check_time_limit(double now);
  void lost(NodeId id, double now);
  void joined(NodeId id);
  void suspect(NodeId id, bool suspected) { progress_.suspect(id, suspected); }
  /// Replaces the rule from the next decision on. The rule must outlive the run or the next set_rule. (A rule may also
  /// change itself and then changes its version().)
  void set_rule(BarrierRule& rule) { gate_.set_rule(rule); }
  /// Requests a checkpoint at the next decision.
  void checkpoint_now() noexcept { checkpoint_requested_ = true; }
  /// Requests a checkpoint as soon as no pull runs, without waiting for a worker to pass the barrier, because the
  /// process ends soon. False if nothing was merged since the last checkpoint.
  bool last_checkpoint() noexcept {
    const bool over = phase_ == Phase::finished || phase_ == Phase::failed;
    if (over || updates_ == checkpoint_updates_) return false;
    return checkpoint_requested_ = checkpoint_urgent_ = true;
  }
  /// Whether a checkpoint is requested and not yet started.
  bool checkpoint_requested() const noexcept { return checkpoint_requested_; }
  /// Ends the run as if `stop` had returned true.
  void stop(const std::string& reason) { begin_stop(reason); }

  /// The next decision. Nothing if there is none until the next frame or next_time().
  std::optional<ServerRequest> next(double now);
  double next_time() const;
  void answer_stop(bool stop);
  void answer_state(CarriedValue state);
  /// Tasks by worker, and the numbers of the numbered tasks. An error if no worker has work and nothing can change
  /// that.
  Status answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                         const std::map<NodeId, uint64_t>& numbers = {});
  /// The numbered tasks that were merged or dropped since the last call, in that order.
  std::vector<TaskOutcome> take_outcomes() { return std::exchange(outcomes_, {}); }

  const Progress& progress() const noexcept { return progress_; }
  uint64_t updates() const noexcept { return updates_; }
  bool finished() const noexcept { return phase_ == Phase::finished; }
  StopContext context(double now) const;

 private:
  // The state of a checkpoint.
  enum class Cut { none, shards, state, ready };
  enum class Phase {
    running,
    merged,         // a decision has begun: staged pushes are committed
    awaiting_stop,  // waits for answer_stop
    to_schedule,
    awaiting_schedule,  // waits for answer_schedule
    stopping,           // waits for the pushes in progress
    finished,
    failed
  };
  struct Worker {
    bool ready = false;
    bool busy = false;
    bool staged = false;
    bool parked = false;
    uint64_t step = 0;                    // the first step that it has not completed in this run
    double released = 0;                  // when it last passed the barrier; for the trace
    BarrierBoard::Worker* row = nullptr;  // its row on the board
    std::vector<ParamEntry> task;
  };
  using NextRequest = std::optional<ServerRequest>;

  NextRequest run(double now);
  NextRequest decide(double now);
  NextRequest cut(double now);
  void send_cut(bool query);
  NextRequest schedule(double now);
  NextRequest finish(double now);
  NextRequest fail(Error error);
  NextRequest check_stuck();
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
  bool has_unready_workers() const;

  // Long waits.
  std::optional<double> waiting_since() const;
  void log_long_wait(double now);
  std::string waiting_text() const;
  std::string awaited_text(double now) const;

  // The trace.
  void show_gate();
  void record_begin(double now);
  void record_passed(double now);
  void record_step(NodeId id, const Worker& worker, double seconds, double now);
  void record_stop();

  ControllerConfig config_;
  ParamShard& own_;
  Log& log_;
  std::vector<Frame>& out_;
  ParamTrace* trace_;  // null: no recording, or the recording has ended
  Progress progress_;
  Gate gate_;
  Phase phase_ = Phase::running;
  std::map<NodeId, Worker> workers_;
  std::unordered_set<NodeId> absent_;   // initial members not ready yet
  std::unordered_set<NodeId> removed_;  // failed or departed workers; ids are never reused
  std::vector<NodeId> passed_;          // passed the barrier, not yet scheduled
  bool was_bsp_;
  bool offer_ = false;             // ask `schedule` about parked workers again
  std::vector<NodeId> requested_;  // the workers that the pending schedule request names
  uint32_t busy_ = 0;
  std::vector<CommitItem> staged_;    // complete pushes that wait for the barrier
  std::vector<CommitItem> buffered_;  // pushes of the merge policy `buffer`
  std::vector<LostNotice> lost_;
  std::unordered_map<NodeId, uint64_t> reported_;
  uint64_t newest_ = 0;   // the highest clock of a push so far
  uint64_t slowest_ = 0;  // the last known minimum clock of the counted workers
  uint64_t updates_ = 0;
  double started_ = -1;
  uint64_t checkpoints_ = 0;
  uint64_t checkpoint_step_ = 0;
  double checkpoint_time_ = 0;
  bool checkpoint_requested_ = false;
  bool checkpoint_urgent_ = false;
  uint64_t checkpoint_updates_ = 0;  // merged updates at the last checkpoint
  Cut cut_ = Cut::none;
  uint32_t unsettled_ = 0;  // shards that have not confirmed that all commits are merged
  RunState cut_state_;
  std::map<std::pair<NodeId, uint64_t>, uint64_t> numbers_;  // of tasks by worker and step, until they are settled
  std::vector<TaskOutcome> outcomes_;
  bool last_cut_ = false;          // the checkpoint at the end was made
  double latest_ = 0;              // the latest time handed in
  double stopped_ = 0;             // when the end was decided
  double next_wait_check_ = 0;     // when to check for long waits again
  double logged_since_ = -1;       // the start of the last logged wait
  uint64_t impossible_times_ = 0;  // working times of workers that cannot be true
  ParamSummary summary_;
};

}  // namespace actorhost
