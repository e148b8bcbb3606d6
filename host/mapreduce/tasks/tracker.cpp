#include "host/mapreduce/tasks/tracker.hpp"

#include <algorithm>
#include <utility>

#include "host/base/clock.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

namespace {

constexpr const char* kLogSource = "map-reduce";
constexpr size_t kMaxEarly = 4096;

}  // namespace

Tracker::Tracker(Log& log, MembershipPtr membership)
    : log_(log), membership_(std::move(membership)), wake_at_(kForever) {
  for (const Member& member : membership_->workers()) add_worker(member);
}

void Tracker::add_worker(const Member& member) {
  if (workers_.contains(member.id)) return;
  workers_[member.id].process = member.process;
  next_worker_ = std::max(next_worker_, uint64_t{member.id} + 1);
}

void Tracker::ignore(const Frame& frame, const std::string& reason) const {
  log_.debug(kLogSource, "ignored a message of kind " + std::to_string(static_cast<unsigned>(frame.kind)) + " from " +
                             address_name(frame.src) + ": " + reason);
}

// ---- frames that arrive ----

void Tracker::handle(Frame&& frame, double now) {
  if (!is_worker(frame.src)) return ignore(frame, "the sender is not a worker");
  const auto worker = workers_.find(frame.src);
  if (worker != workers_.end()) {
    worker->second.last_message = now;
    dispatch(frame.src, worker->second, frame, now);
    return advance(now);
  }
  // A joining worker may receive its membership table before the tracker does. Ids are never reused.
  const bool early = frame.src >= next_worker_ && early_.size() < kMaxEarly;
  if (!early) return ignore(frame, "the worker has left the run");
  early_.push_back(std::move(frame));
}

void Tracker::dispatch(NodeId id, Worker& worker, const Frame& frame, double now) {
  if (frame.kind == mapreduce_kind::begin) return on_begin(id, worker, frame, now);
  if (frame.kind == mapreduce_kind::finished && !worker.action) return on_skipped(worker, frame);
  if (!worker.action || *worker.action != frame.tag) return ignore(frame, "the worker is not in that action");
  if (frame.kind == mapreduce_kind::request) return on_request(id, worker, frame, now);
  if (frame.kind == mapreduce_kind::done) return on_done(worker, frame, now);
  if (frame.kind == mapreduce_kind::failed) return on_failed(id, worker, frame, now);
  if (frame.kind == mapreduce_kind::finished) return on_finished(worker, frame.tag);
  ignore(frame, "the tracker does not receive this kind");
}

void Tracker::on_begin(NodeId id, Worker& worker, const Frame& frame, double now) {
  const uint32_t number = frame.tag;
  if (number < worker.finished_below || worker.action == number)
    return ignore(frame, "the worker has begun that action");
  auto begin = read_message<PlanBegin>(frame);
  if (!begin) return refuse(id, number, malformed(frame, begin.error().message));
  leave(worker);
  const std::vector<StageId> unused = begin->plan.forget;
  ActionRun* run = open(number, std::move(*begin), id, now);
  if (run == nullptr) return;
  unusable_.insert(unused.begin(), unused.end());
  for (const StageId stage : unused) to_release_.try_emplace(stage, number);
  worker.action = number;
  worker.finished_below = number;
  worker.outcomes = worker.outcomes_acknowledged = 0;
  worker.known_versions.clear();
  recheck_result(*run, now);
  if (run->ended()) send_outcome(number, *run, id, worker);
}

/// Checks a finished action before its result is sent to another worker: parts of the result may be lost or have moved.
void Tracker::recheck_result(ActionRun& run, double now) {
  if (!run.outdated()) return;
  if (run.board().complete()) return run.end_with_result(now);
  log_.info(kLogSource, "some of the result was lost before all workers had it, and is computed again");
  run.reopen();
}

/// Opens the action of that number. Returns nullptr when the worker cannot take part; the worker then has the error.
ActionRun* Tracker::open(uint32_t number, PlanBegin&& begin, NodeId id, double now) {
  const std::string worker_name = membership_->describe(id);
  if (const auto known = actions_.find(number); known != actions_.end()) {
    ActionRun& run = known->second;
    if (run.plan().hash == begin.plan.hash) return &run;
    const Error error{Code::mismatch,
                      "nodes disagree on what to compute: " + run.opened_by() + " at " + run.where() + ", " +
                          worker_name + " at " + begin.where +
                          "; every worker must define the same datasets from the same functions and values, in the "
                          "same order (the order of pairs() differs between nodes: use actor.pairs)"};
    refuse(id, number, error);
    if (!run.ended()) end(number, run, error, now);
    return nullptr;
  }
  for (const PlanStage& stage : begin.plan.stages) {
    if (const Status opened = places_.open(stage.id, stage.tasks); !opened.ok()) {
      refuse(id, number, opened.error());
      return nullptr;
    }
  }
  return &actions_.try_emplace(number, std::move(begin), worker_name, places_, now).first->second;
}

void Tracker::on_request(NodeId id, Worker& worker, const Frame& frame, double now) {
  const auto request = read_message<TaskRequest>(frame);
  if (!request) return ignore(frame, request.error().message);
  ActionRun& run = actions_.at(frame.tag);
  if (worker.running) {  // the tracker ignored its malformed report about the task
    const Error error{Code::bad_data, "the worker has requested another task without a report on this task"};
    on_task_failed(id, run, *std::exchange(worker.running, std::nullopt), {{}, error, {}}, frame.tag, now);
  }
  worker.outcomes_acknowledged = std::min(request->outcomes, worker.outcomes);
  if (worker.outcomes > worker.outcomes_acknowledged) return;  // the worker has an unread `outcome`
  recheck_result(run, now);
  if (run.ended()) return send_outcome(frame.tag, run, id, worker);
  worker.idle = true;
}

/// Ends the task that the worker is running; returns nothing when it ran another task.
std::optional<TaskRef> Tracker::take_running(const ActionRun& run, Worker& worker, const TaskAttemptId& name) {
  if (!worker.running) return std::nullopt;
  const TaskAttemptId known{run.plan().stages[worker.running->stage].id, worker.running->task, worker.attempt};
  return known == name ? std::exchange(worker.running, std::nullopt) : std::nullopt;
}

void Tracker::on_done(Worker& worker, const Frame& frame, double now) {
  auto done = read_message<TaskDone>(frame);
  if (!done) return ignore(frame, done.error().message);
  ActionRun& run = actions_.at(frame.tag);
  const auto ref = take_running(run, worker, done->task);
  if (!ref) return ignore(frame, "the worker does not run that task");
  const auto& [stage, task, attempt] = done->task;
  if (!places_.add(stage, task, worker.process)) {
    // Another action has made the output meanwhile; if both copies are in one process, the store has only one of them.
    if (places_.stage(stage).at[task] != worker.process) {
      out_.push_back(ForgetOutputs{{}, {{stage, task}}}.frame(worker.process, frame.tag));
    }
    return run.board().give_back(*ref);
  }
  run.board().record_output(*ref);
  invalidate_others(stage, &run);
  if (run.ended()) return;
  const Status counted = run.count(*ref, std::move(done->report), now);
  if (!counted.ok()) end(frame.tag, run, counted.error(), now);
}

void Tracker::on_failed(NodeId id, Worker& worker, const Frame& frame, double now) {
  const auto failed = read_message<TaskFailed>(frame);
  if (!failed) return ignore(frame, failed.error().message);
  ActionRun& run = actions_.at(frame.tag);
  if (failed->task.stage == 0) return on_result_lost(id, frame.tag, run, *failed, now);
  const auto ref = take_running(run, worker, failed->task);
  if (!ref) return ignore(frame, "the worker does not run that task");
  on_task_failed(id, run, *ref, *failed, frame.tag, now);
}

void Tracker::on_task_failed(NodeId id, ActionRun& run, TaskRef ref, const TaskFailed& failed, uint32_t number,
                             double now) {
  const std::string worker_name = membership_->describe(id);
  const ProcessId process = workers_.at(id).process;
  // When all processes lack room, the lack is an ordinary failure.
  const bool elsewhere = failed.lost.empty() && failed.error.code == Code::full &&
                         std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
                           return entry.second.process != process && !run.is_full(entry.second.process);
                         });
  std::string message = run.task_text(ref) + ", failed on " + worker_name + ": " + first_line(failed.error.message);
  if (elsewhere) message += "; this process gets no more tasks of the action, others do them";
  if (run.is_first_occurrence(first_line(failed.error.message))) {
    log_.warn(kLogSource, message);
  } else {  // the error that ends the action has the number of failures
    log_.debug(kLogSource, message);
  }
  std::optional<Error> last;
  if (elsewhere) {
    run.process_full(ref, process);
  } else if (failed.lost.empty()) {
    last = run.failed(ref, failed.error, worker_name);
  } else {
    std::vector<StageId> inputs;
    for (const PlanDependency& need : run.plan().stages[ref.stage].needs) inputs.push_back(need.stage);
    drop_outputs(inputs, failed.lost, workers_.at(id).seen);
    last = run.input_lost(ref, failed.error, worker_name, now);
  }
  run.board().give_back(ref);
  if (last && !run.ended()) end(number, run, *last, now);
}

/// Whether that process gets tasks: it has had room so far, or all processes lack room.
bool Tracker::has_room(const ActionRun& run, ProcessId process) const {
  return !run.is_full(process) || std::all_of(workers_.begin(), workers_.end(),
                                              [&](const auto& entry) { return run.is_full(entry.second.process); });
}

/// Handles a worker that could not fetch the action's result. The worker waits for the next `outcome`.
void Tracker::on_result_lost(NodeId id, uint32_t number, ActionRun& run, const TaskFailed& failed, double now) {
  if (!drop_outputs({run.plan().stages.back().id}, failed.lost, workers_.at(id).seen)) return;
  const std::string worker_name = membership_->describe(id);
  log_.warn(kLogSource,
            "some of the result could not be fetched on " + worker_name + ": " + first_line(failed.error.message));
  const auto last = run.result_lost(failed.error, worker_name, now);
  if (last && (run.succeeded() || !run.ended())) end(number, run, *last, now);
}

void Tracker::on_finished(Worker& worker, uint32_t number) {
  leave(worker);
  worker.finished_below = uint64_t{number} + 1;
}

/// Handles a late worker with the action's value, which has not taken part.
void Tracker::on_skipped(Worker& worker, const Frame& frame) {
  worker.finished_below = std::max(worker.finished_below, uint64_t{frame.tag} + 1);
}

/// Drops outputs of `stages` that could not be fetched. Returns false when they were dropped before.
bool Tracker::drop_outputs(const std::vector<StageId>& stages, const std::vector<LostInput>& lost, uint64_t seen) {
  bool dropped = false;
  for (const LostInput& input : lost) {
    if (std::find(stages.begin(), stages.end(), input.stage) == stages.end()) continue;
    const bool removed = input.task == kEveryTask ? places_.drop_all(input.stage, input.process, seen)
                                                  : places_.drop(input.stage, input.task, input.process, seen);
    if (removed) invalidate_others(input.stage, nullptr);
    dropped = dropped || removed;
  }
  return dropped;
}

void Tracker::invalidate_others(StageId stage, const ActionRun* except) {
  for (auto& [number, run] : actions_) {
    if (&run != except && run.board().find(stage)) run.board().invalidate();
  }
}

// ---- changes of the membership ----

/// Takes a worker out of its action, which continues without it.
void Tracker::leave(Worker& worker) {
  if (worker.action && worker.running) {
    ActionRun& run = actions_.at(*worker.action);
    run.lost(*worker.running);
    run.board().give_back(*worker.running);
  }
  worker.action.reset();
  worker.running.reset();
  worker.idle = false;
}

/// Removes a worker of a failed process. Returns the action that ends because of the failure, and its error.
std::optional<std::pair<uint32_t, Error>> Tracker::remove_worker(Worker& worker, const std::string& worker_name) {
  std::optional<std::pair<uint32_t, Error>> last;
  if (worker.action && worker.running) {
    ActionRun& run = actions_.at(*worker.action);
    if (auto error = run.process_lost(*worker.running, worker_name)) last = {*worker.action, *std::move(error)};
  }
  leave(worker);
  return last;
}

void Tracker::membership_changed(MembershipPtr newest, double now) {
  const MembershipPtr before = std::exchange(membership_, std::move(newest));
  for (const ProcessInfo& info : before->processes()) {
    if (membership_->process(info.process) != nullptr) continue;
    const size_t lost = places_.drop_process(info.process);
    if (lost == 0) continue;
    log_.info(kLogSource,
              std::to_string(lost) + " outputs are lost with " + info.host + "; needed outputs are made again");
    for (auto& [number, run] : actions_) run.board().invalidate();
  }
  std::vector<std::pair<uint32_t, Error>> ends;
  for (auto& [id, worker] : workers_) {
    if (membership_->alive(id)) continue;
    if (auto last = remove_worker(worker, before->describe(id))) ends.push_back(*std::move(last));
  }
  std::erase_if(workers_, [this](const auto& entry) { return !membership_->alive(entry.first); });
  for (const auto& [number, error] : ends) {
    if (ActionRun& run = actions_.at(number); !run.ended()) end(number, run, error, now);
  }
  for (const Member& member : membership_->workers()) add_worker(member);
  std::deque<Frame> early;
  early.swap(early_);
  for (Frame& frame : early) handle(std::move(frame), now);
  advance(now);
}

void Tracker::tick(double now) { advance(now); }

// ---- assigning tasks ----

void Tracker::advance(double now) {
  wake_at_ = kForever;
  for (auto& [number, run] : actions_) {
    if (run.ended()) continue;
    if (run.board().complete()) {
      run.end_with_result(now);
      send_outcomes(number, run);
    } else {
      serve(number, run, now);
      log_long_wait(number, run, now);
    }
  }
  drop_actions();
}

/// Gives each idle worker a task whose home is its process; the remaining workers get tasks without a home, then tasks
/// of another process.
void Tracker::serve(uint32_t number, ActionRun& run, double now) {
  std::vector<NodeId> idle;
  for (const auto& [id, worker] : workers_) {
    if (worker.idle && worker.action == number && has_room(run, worker.process)) idle.push_back(id);
  }
  const auto round = [&](auto take) {
    std::erase_if(idle, [&](NodeId id) {
      Worker& worker = workers_.at(id);
      const std::optional<TaskRef> ref = take(worker);
      if (ref) assign(number, run, id, worker, *ref, now);
      return ref.has_value();
    });
    return !idle.empty() && run.board().ready() != 0;
  };
  if (idle.empty() || run.board().ready() == 0) return;
  if (!round([&](const Worker& worker) { return run.board().take_at_home(worker.process); })) return;
  if (!round([&](const Worker&) { return run.board().take_free(); })) return;
  const auto awaited = awaited_processes(number, run);
  const auto may = [&](ProcessId home) {
    const auto until = awaited.find(home);
    return until == awaited.end() || now >= until->second;
  };
  if (!round([&](const Worker&) { return run.board().take_from_others(may); })) return;
  for (const auto& [home, until] : awaited) {
    if (until > now) wake_at_ = std::min(wake_at_, until);
  }
}

/// Logs a long wait of an idle worker, with the workers and tasks that it waits for.
void Tracker::log_long_wait(uint32_t number, ActionRun& run, double now) {
  if (!run.may_log_wait()) return;
  double since = kForever;
  std::string busy;
  for (const auto& [id, worker] : workers_) {
    if (worker.action != number) continue;
    if (worker.idle) since = std::min(since, worker.last_message);
    if (!worker.running) continue;
    const auto seconds = static_cast<int64_t>(now - worker.assigned_at);
    busy += (busy.empty() ? "" : "; ") + membership_->describe(id) + " with " + run.task_text(*worker.running) +
            ", for " + std::to_string(seconds) + " s";
  }
  if (since == kForever || busy.empty()) return;
  if (now < since + kSilentWait) {
    wake_at_ = std::min(wake_at_, since + kSilentWait);
  } else if (!run.mark_wait_logged()) {
    log_.info(kLogSource, "workers wait for a task for over 10 s (" + run.where() + "), for " + busy);
  }
}

/// Processes with workers that will probably request a task soon, and the time until which to wait for them.
std::map<ProcessId, double> Tracker::awaited_processes(uint32_t number, const ActionRun& run) const {
  std::map<ProcessId, double> awaited;
  for (const auto& [id, worker] : workers_) {
    double& until = awaited[worker.process];
    if (worker.action != number) {
      if (worker.finished_below <= number) until = std::max(until, run.began() + kHomePatience);
    } else if (!worker.idle && !worker.running && worker.outcomes == worker.outcomes_acknowledged) {
      until = std::max(until, worker.last_message + kHomePatience);
    }
  }
  return awaited;
}

void Tracker::assign(uint32_t number, ActionRun& run, NodeId id, Worker& worker, TaskRef ref, double now) {
  const TaskOrder order = run.assign(ref, worker.known_versions, now);
  worker.running = ref;
  worker.attempt = order.task.attempt;
  worker.assigned_at = now;
  worker.seen = places_.clock();
  worker.idle = false;
  out_.push_back(order.frame(worker_address(id), number));
}

// ---- the end of an action ----

void Tracker::end(uint32_t number, ActionRun& run, const Error& error, double now) {
  run.end_with_error(error, now);
  send_outcomes(number, run);
}

/// Sends the outcome of the action to all its workers, except workers with an unread `outcome`.
void Tracker::send_outcomes(uint32_t number, const ActionRun& run) {
  for (auto& [id, worker] : workers_) {
    if (worker.action == number && worker.outcomes == worker.outcomes_acknowledged)
      send_outcome(number, run, id, worker);
  }
}

void Tracker::send_outcome(uint32_t number, const ActionRun& run, NodeId id, Worker& worker) {
  worker.idle = false;
  ++worker.outcomes;
  worker.seen = places_.clock();
  Frame frame = run.outcome_frame(worker_address(id));
  frame.tag = number;
  out_.push_back(std::move(frame));
}

/// Notifies one worker that it cannot take part in the action.
void Tracker::refuse(NodeId id, uint32_t number, const Error& error) {
  ActionOutcome outcome;
  outcome.ok = false;
  outcome.code = error.code;
  outcome.message = error.message;
  out_.push_back(outcome.frame(worker_address(id), number));
}

/// Drops actions that no worker needs any more, in order: a worker is through with all actions before the last one that
/// it is through with.
void Tracker::drop_actions() {
  while (drop_oldest()) {
  }
  release();
}

bool Tracker::drop_oldest() {
  const auto oldest = actions_.begin();
  const auto finished = [&](const auto& entry) { return entry.second.finished_below > oldest->first; };
  if (oldest == actions_.end() || !std::all_of(workers_.begin(), workers_.end(), finished)) return false;
  forget(oldest->first, oldest->second);
  actions_.erase(oldest);
  return true;
}

void Tracker::forget(uint32_t number, const ActionRun& run) {
  std::vector<StageId> made;
  std::vector<StageId> unused;  // also stages that were never made
  const Plan& plan = run.plan();
  for (uint32_t i = 0; i < plan.stages.size(); ++i) {
    const PlanStage& stage = plan.stages[i];
    if ((stage.keep && !unusable_.contains(stage.id)) || needed_by_others(stage.id, number)) continue;
    if (run.touched(i) || run.board().outputs(i).present != 0) made.push_back(stage.id);
    unused.push_back(stage.id);
  }
  archive(number, run);
  for (const StageId stage : unused) places_.forget(stage);
  send_forget(made, number);
}

/// Frees kept outputs that the script no longer uses, once no worker can be in an earlier action. Open actions with
/// such a stage in their plan retain it, in case rows are lost.
void Tracker::release() {
  std::vector<StageId> released;
  std::erase_if(to_release_, [&](const auto& entry) {
    const auto [stage, action] = entry;
    const auto begun = [action = action](const auto& worker) { return worker.second.finished_below >= action; };
    if (!std::all_of(workers_.begin(), workers_.end(), begun) || needed_by_others(stage, std::nullopt)) return false;
    if (places_.knows(stage)) released.push_back(stage);
    return true;
  });
  for (const StageId stage : released) places_.forget(stage);
  send_forget(released, 0);
}

void Tracker::send_forget(const std::vector<StageId>& stages, uint32_t number) {
  if (stages.empty()) return;
  const ForgetOutputs list{stages, {}};
  for (const ProcessInfo& info : membership_->processes()) out_.push_back(list.frame(info.process, number));
}

/// Whether any action but `number` needs the stage.
bool Tracker::needed_by_others(StageId stage, std::optional<uint32_t> number) const {
  return std::any_of(actions_.begin(), actions_.end(), [&](const auto& entry) {
    return entry.first != number && entry.second.board().find(stage).has_value();
  });
}

}  // namespace actorhost
