#pragma once
// A simulated run of map-reduce: processes with stores, workers that go through the same list of actions, and a
// tracker. Every frame between them is in flight for a random time. Processes fail and join, tasks fail, outputs vanish
// from disks. The simulation checks each event against its own record of the run.

#include <deque>
#include <utility>

#include "host/base/random.hpp"
#include "host/mapreduce/tasks/tracker.hpp"
#include "tests/host/mapreduce/random_job.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

using TaskKey = std::pair<StageId, uint32_t>;

/// The faults of a run; drawn from its seed.
struct FaultPlan {
  uint32_t crashes = 0;
  uint32_t joins = 0;
  uint32_t disk_losses = 0;   // outputs that a disk loses
  uint64_t failure_odds = 0;  // one task in this many fails; 0: none
  bool replay = false;        // a worker replays the recorded value of an action that another worker has finished
};

struct ScheduleCounts {
  uint64_t tasks = 0;
  uint64_t failures = 0;
  uint64_t failed_actions = 0;
  uint64_t crashes = 0;
  uint64_t joins = 0;
  uint64_t lost_inputs = 0;
  uint64_t lost_results = 0;
  uint64_t replays = 0;
  uint64_t reused = 0;
  uint64_t cached = 0;
  void operator+=(const ScheduleCounts& other);
};

class TrackerSchedule {
 public:
  explicit TrackerSchedule(uint64_t seed);
  /// Runs until every live worker has taken all actions and no frame is in flight; REQUIREs the invariants.
  void run();
  const ScheduleCounts& counts() const noexcept { return counts_; }

 private:
  struct Worker {
    ProcessId process = 0;
    uint32_t action = 0;  // the current or next action
    enum class State { outside, waiting, working, taking, finished } state = State::outside;
    TaskOrder order;
    ActionOutcome outcome;
    uint32_t outcomes = 0;
    PlaceCache cache;
    std::deque<Frame> inbox;   // from the tracker, in flight
    std::deque<Frame> outbox;  // to the tracker
  };
  struct Process {
    bool alive = true;
    std::map<TaskKey, double> store;             // with the time of the put
    std::deque<std::pair<double, Frame>> inbox;  // with the time of the send
  };

  uint32_t pick(uint64_t bound) { return static_cast<uint32_t>(rng_.below(bound)); }
  bool one_in(uint64_t bound) { return bound != 0 && rng_.below(bound) == 0; }
  const PlanStage& stage_of(StageId id) const { return *stages_.at(id); }

  void add_process();
  void publish();
  bool step();
  void inject_faults();
  void crash_process();
  void lose_output();
  void tracker_step();
  void collect();
  void sent(Frame&& frame);

  void act(Worker& worker);
  void enter(Worker& worker);
  void receive(NodeId id, Worker& worker, const Frame& frame);
  void receive_order(NodeId id, Worker& worker, const Frame& frame);
  void work(Worker& worker);
  std::vector<LostInput> missing_inputs(const TaskOrder& order) const;
  bool is_lost(const TaskKey& key, ProcessId place) const;
  void take_result(Worker& worker);
  void leave_action(Worker& worker, bool finished);
  void send(Worker& worker, Frame&& frame);
  void deliver(NodeId id, Frame&& frame);
  void forget(ProcessId id, double sent, const Frame& frame);
  void forget(ProcessId id, double sent, const TaskKey& key);

  void check_order(NodeId id, const TaskOrder& order);
  void check_outcome(const ActionOutcome& outcome, uint32_t action);
  void check_end();

  Rng rng_;
  FaultPlan faults_;
  ScheduleCounts counts_;
  std::vector<Plan> job_;
  std::map<StageId, const PlanStage*> stages_;
  Log log_;
  double now_ = 0;
  uint64_t epoch_ = 0;
  std::map<ProcessId, Process> processes_;
  std::map<NodeId, Worker> workers_;
  NodeId next_worker_ = 0;
  std::deque<MembershipPtr> tables_;  // in flight to the tracker
  MembershipPtr known_;               // the tracker's table
  std::unique_ptr<Tracker> tracker_;
  std::set<uint32_t> recorded_;  // actions that a worker has finished
  std::set<uint32_t> released_;  // actions whose `begin` listed unused stages

  // The oracle's record.
  std::map<TaskKey, uint64_t> runs_;
  std::map<TaskKey, uint64_t> allowed_reruns_;
  std::map<NodeId, std::pair<uint32_t, TaskKey>>
      out_;  // the tasks that workers were given, by action, until the tracker receives the end
  std::map<std::pair<uint32_t, TaskKey>, std::vector<std::string>> errors_;  // that the tracker has received
  std::set<std::pair<TaskKey, ProcessId>> disk_lost_;                        // from the stores of live processes
};

}  // namespace actorhost::test
