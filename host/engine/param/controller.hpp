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
#include <utility>
#include <vector>

#include "host/barrier/gate.hpp"
#include "host/base/non_copyable.hpp"
#include "host/engine/param/push_merger.hpp"
#include "host/engine/param/run_checkpoints.hpp"
#include "host/engine/param/run_log.hpp"
#include "host/engine/param/run_recorder.hpp"
#include "host/engine/param/run_workers.hpp"
#include "host/engine/param/server_requests.hpp"

namespace actorhost {

struct ControllerConfig {
  RunId run = 0;
  uint32_t shards = 1;
  MergeRule* merge = nullptr;   // outlives the controller; null: every push is merged at once
  bool local_schedule = false;  // workers choose their keys
  double seconds = kForever;    // the run stops after this time
  CheckpointPlan checkpoint;
  std::vector<NodeId> members;           // live workers; BSP begins when all are ready
  RunState resumed;                      // clocks of a resumed run
  std::optional<ParamSummary> finished;  // set if the run had ended before the job was resumed
  ParamTrace* trace = nullptr;           // records the run; may be null; outlives the controller
  BarrierBoard* board = nullptr;         // for observers; outlives the controller
  std::string barrier;                   // the rule's name in the trace and on the board
  std::string merge_name;                // the merge rule's name on the board
  bool filtered = false;                 // values pass through filters
  std::string push_place;                // the source line of `push`: "push (job.lua:8)"
  double long_wait = 10;                 // seconds of waiting until the log reports it
  bool saves = false;                    // checkpoints may be written
  bool lua_pull = false;
  std::optional<uint64_t> seed;  // of the run, stored in its checkpoints
  bool keeps_tasks = false;      // the policy keeps account of numbered tasks; checkpoints contain its state
};

class ParamController : private NonCopyable {
 public:
  ParamController(const ControllerConfig& config, BarrierRule& rule, ParamShard& own, Log& log,
                  std::vector<Frame>& out);

  void on_ready(NodeId id, double now);
  /// The push of step `step` is complete. `seconds` and `traffic` are the worker's own measurements: its working time
  /// and its sent and received bytes.
  void on_done(NodeId id, uint64_t step, double seconds, double now, const ParamTraffic& traffic = {});
  void on_report(const ShardReport& report) {
    if (phase_ != Phase::finished) log_.non_finite(report);
  }
  /// Another shard reports that it has merged all commits sent before the request.
  void on_settled(uint64_t checkpoint) { checkpoints_.on_settled(checkpoint); }
  /// Ends the run when its seconds are over. The owner calls this before it handles each frame, so no later frame is
  /// merged.
  void check_time_limit(double now);
  void lost(NodeId id, double now);
  void joined(NodeId id) { workers_.add(id); }
  void suspect(NodeId id, bool suspected) { progress_.suspect(id, suspected); }
  /// Replaces the rule from the next decision on. The rule must outlive the run or the next set_rule. (A rule may also
  /// change itself and then changes its version().)
  void set_rule(BarrierRule& rule) { gate_.set_rule(rule); }
  /// Requests a checkpoint at the next decision.
  void checkpoint_now() noexcept { checkpoints_.request(); }
  /// Requests a checkpoint as soon as no pull runs, without waiting for a worker to pass the barrier, because the
  /// process ends soon. False if nothing was merged since the last checkpoint.
  bool last_checkpoint() noexcept {
    const bool over = phase_ == Phase::finished || phase_ == Phase::failed;
    return !over && checkpoints_.request_urgent(merger_.updates());
  }
  /// Whether a checkpoint is requested and not yet started.
  bool checkpoint_requested() const noexcept { return checkpoints_.requested(); }
  /// Ends the run as if `stop` had returned true.
  void stop(const std::string& reason) { begin_stop(reason); }

  /// The next decision. Nothing if there is none until the next frame or next_time().
  std::optional<ServerRequest> next(double now);
  double next_time() const;
  void answer_stop(bool stop);
  void answer_state(CarriedValue state) { checkpoints_.answer_state(std::move(state)); }
  /// Tasks by worker, and the numbers of the numbered tasks. An error if no worker has work and nothing can change
  /// that.
  Status answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                         const std::map<NodeId, uint64_t>& numbers = {});
  /// The numbered tasks that were merged or dropped since the last call, in that order.
  std::vector<TaskOutcome> take_outcomes() { return merger_.take_outcomes(); }

  /// The steps in progress, by worker: their pushes have not arrived.
  std::vector<PendingStep> pending() const;

  const Progress& progress() const noexcept { return progress_; }
  uint64_t updates() const noexcept { return merger_.updates(); }
  bool finished() const noexcept { return phase_ == Phase::finished; }
  StopContext context(double now) const;

 private:
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
  struct Times {
    double began = -1;   // when the first worker arrived
    double latest = 0;   // the latest time handed in
    double stopped = 0;  // when the end was decided
  };

  std::optional<ServerRequest> run(double now);
  std::optional<ServerRequest> decide(double now);
  std::optional<ServerRequest> cut(double now);
  std::optional<ServerRequest> schedule(double now);
  std::optional<ServerRequest> finish(double now);
  std::optional<ServerRequest> fail(Error error);
  std::optional<ServerRequest> check_stuck();
  void begin_stop(const std::string& reason);
  void drop_in_flight();
  void set_parked(NodeId id, RunWorker& worker, bool parked, double now);
  void release(NodeId id, std::vector<ParamEntry> entries, double now);
  void send_task(NodeId id, const RunWorker& worker, const std::vector<ParamEntry>& entries);
  void send_stop(NodeId id);
  void check_waits(double now);
  uint64_t clock_of(NodeId id) const;
  void note_slowest();
  bool began() const noexcept { return times_.began >= 0; }
  double elapsed(double now) const { return config_.resumed.seconds + (began() ? now - times_.began : 0); }
  RunState state(double now) const;
  bool bsp() const { return gate_.rule().staleness() == 0; }

  ControllerConfig config_;
  ParamShard& own_;
  std::vector<Frame>& out_;
  Progress progress_;
  Gate gate_;
  Phase phase_ = Phase::running;
  bool was_bsp_;
  RunWorkers workers_;
  std::vector<NodeId> passed_;     // passed the barrier, not yet scheduled
  bool offer_ = false;             // ask `schedule` about parked workers again
  std::vector<NodeId> requested_;  // the workers that the pending schedule request names
  std::vector<LostNotice> lost_;
  uint64_t slowest_;  // the last known minimum clock of the counted workers
  Times times_;
  ParamSummary summary_;
  MergeAll merge_all_;
  PushMerger merger_;
  RunCheckpoints checkpoints_;
  RunRecorder recorder_;
  RunLog log_;
};

}  // namespace actorhost
