#pragma once
// A fixture with a tracker and workers that a test drives by hand: frames to the tracker arrive at once, frames to
// workers are queued in order.

#include <deque>

#include "host/mapreduce/tasks/tracker.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

inline PlanStage stage_of(StageId id, uint32_t tasks, std::vector<PlanDependency> needs = {}, uint32_t buckets = 1) {
  PlanStage stage;
  stage.id = id;
  stage.name = "stage" + std::to_string(id);
  stage.tasks = tasks;
  stage.buckets = buckets;
  stage.needs = std::move(needs);
  return stage;
}

inline PlanDependency wide(StageId stage) { return {stage, true, 0}; }
inline PlanDependency narrow(StageId stage, uint32_t first = 0) { return {stage, false, first}; }

inline Plan plan_of(std::vector<PlanStage> stages, uint64_t hash = 1) {
  Plan plan;
  plan.stages = std::move(stages);
  plan.hash = hash;
  REQUIRE(plan.check().ok());
  return plan;
}

/// Two splits, shuffled into two partitions.
inline Plan word_count() { return plan_of({stage_of(1, 2, {}, 2), stage_of(2, 2, {wide(1)})}); }

/// A kept dataset of `tasks` partitions and a stage over it, as in an iteration.
inline Plan iteration(uint32_t tasks, StageId result) {
  std::vector<PlanStage> stages = {stage_of(1, tasks), stage_of(result, tasks, {narrow(1)})};
  stages[0].keep = true;
  return plan_of(std::move(stages), result);
}

class TrackerWorld {
 public:
  /// Worker i runs in process homes[i].
  explicit TrackerWorld(const std::vector<ProcessId>& homes)
      : log(LogLevel::debug, [this](const LogLine& line) {
          lines.push_back(line.words());
          if (line.level == LogLevel::warn) ++warnings;
        }) {
    for (NodeId id = 0; id < homes.size(); ++id) members.push_back({id, homes[id]});
    tracker = std::make_unique<Tracker>(log, table());
  }

  MembershipPtr table() {
    std::map<ProcessId, ProcessInfo> infos;
    for (const Member& member : members) infos[member.process] = {member.process, host(member.process), ""};
    std::vector<ProcessInfo> list;
    for (const auto& [process, info] : infos) list.push_back(info);
    return std::make_shared<const Membership>(++epoch_, members, list);
  }
  static std::string host(ProcessId process) { return "host" + std::to_string(process); }

  void lose(ProcessId process) {
    std::erase_if(members, [process](const Member& member) { return member.process == process; });
    tracker->membership_changed(table(), now);
    collect();
  }
  void join(NodeId id, ProcessId process) {
    members.push_back({id, process});
    tracker->membership_changed(table(), now);
    collect();
  }

  void send(NodeId worker, Frame frame) {
    frame.src = worker_address(worker);
    tracker->handle(std::move(frame), now);
    collect();
  }
  void begin(NodeId worker, uint32_t action, const Plan& plan) {
    outcomes[worker] = 0;
    send(worker, PlanBegin{"job.lua:" + std::to_string(10 + worker), plan}.frame(action));
  }
  void request(NodeId worker, uint32_t action) { send(worker, TaskRequest{outcomes[worker]}.frame(action)); }
  void enter(NodeId worker, uint32_t action, const Plan& plan) {
    begin(worker, action, plan);
    request(worker, action);
  }
  /// Each worker in turn begins the action and requests a task.
  void enter(std::initializer_list<NodeId> workers, uint32_t action, const Plan& plan) {
    for (const NodeId worker : workers) enter(worker, action, plan);
  }
  void report_done(NodeId worker, uint32_t action, const TaskAttemptId& task, const TaskReport& report = {}) {
    send(worker, TaskDone{task, report}.frame(action));
  }
  void report_failed(NodeId worker, uint32_t action, const TaskAttemptId& task, const std::string& text,
                     std::vector<LostInput> lost = {}, Code code = Code::script) {
    send(worker, TaskFailed{task, {code, text}, std::move(lost)}.frame(action));
  }
  void report_finished(NodeId worker, uint32_t action) { send(worker, finished_frame(action)); }
  /// Reports a task, and requests the next task.
  void complete(NodeId worker, uint32_t action, const TaskAttemptId& task, const TaskReport& report = {}) {
    report_done(worker, action, task, report);
    request(worker, action);
  }
  /// Reports that a task has failed, and requests the next task.
  void fail(NodeId worker, uint32_t action, const TaskAttemptId& task, const std::string& text,
            std::vector<LostInput> lost = {}, Code code = Code::script) {
    report_failed(worker, action, task, text, std::move(lost), code);
    request(worker, action);
  }
  /// The worker reads the outcome of the action, and reports that it has finished the action.
  void finish(NodeId worker, uint32_t action) {
    outcome(worker);
    report_finished(worker, action);
  }
  void pass(double seconds) {
    now += seconds;
    tracker->tick(now);
    collect();
  }

  bool quiet(NodeId worker) { return sent[worker].empty(); }
  /// The task of the last order to the worker.
  TaskOrder order(NodeId worker) {
    INFO("worker " << worker);
    const Frame frame = next(worker_address(worker));
    REQUIRE(frame.kind == mapreduce_kind::task);
    return read_message<TaskOrder>(frame).value();
  }
  TaskAttemptId task(NodeId worker) { return order(worker).task; }
  ActionOutcome outcome(NodeId worker) {
    INFO("worker " << worker);
    const Frame frame = next(worker_address(worker));
    REQUIRE(frame.kind == mapreduce_kind::outcome);
    ++outcomes[worker];
    return read_message<ActionOutcome>(frame).value();
  }
  ForgetOutputs forget(ProcessId process) {
    INFO("process " << process);
    const Frame frame = next(data_address(process));
    REQUIRE(frame.kind == mapreduce_kind::forget);
    return read_message<ForgetOutputs>(frame).value();
  }
  /// Completes the ordered task and requests the next task.
  TaskAttemptId work(NodeId worker, uint32_t action, const TaskReport& report = {}) {
    const TaskAttemptId name = task(worker);
    complete(worker, action, name, report);
    return name;
  }
  bool logged(const std::string& text) const {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.find(text) != line.npos; });
  }

  Log log;
  std::vector<std::string> lines;
  int warnings = 0;
  std::vector<Member> members;
  double now = 100;
  std::unique_ptr<Tracker> tracker;
  std::map<Address, std::deque<Frame>> sent;
  std::map<NodeId, uint32_t> outcomes;

 private:
  void collect() {
    for (Frame& frame : tracker->take_frames()) sent[frame.dst].push_back(std::move(frame));
  }
  Frame next(Address address) {
    REQUIRE_FALSE(sent[address].empty());
    Frame frame = std::move(sent[address].front());
    sent[address].pop_front();
    return frame;
  }

  uint64_t epoch_ = 0;
};

/// One worker runs an action alone.
inline void run_alone(TrackerWorld& world, NodeId worker, uint32_t action, const Plan& plan) {
  world.enter(worker, action, plan);
  while (world.sent[worker].front().kind == mapreduce_kind::task) world.work(worker, action);
  REQUIRE(world.outcome(worker).ok);
}
/// As `run_alone`; then the worker reports that it has finished the action.
inline void run_through(TrackerWorld& world, NodeId worker, uint32_t action, const Plan& plan) {
  run_alone(world, worker, action, plan);
  world.report_finished(worker, action);
}

/// A worker makes the first stage of `word_count`.
inline void map_words(TrackerWorld& world, NodeId worker) {
  world.enter(worker, 1, word_count());
  for (int split = 0; split < 2; ++split) world.work(worker, 1);
}

}  // namespace actorhost::test
