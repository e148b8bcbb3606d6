#include "tests/host/mapreduce/tasks/tracker_schedule.hpp"

#include "host/base/clock.hpp"

namespace actorhost::test {

void ScheduleCounts::operator+=(const ScheduleCounts& other) {
  tasks += other.tasks;
  failures += other.failures;
  failed_actions += other.failed_actions;
  crashes += other.crashes;
  joins += other.joins;
  lost_inputs += other.lost_inputs;
  lost_results += other.lost_results;
  replays += other.replays;
  reused += other.reused;
  cached += other.cached;
}

// ---- the cluster ----

TrackerSchedule::TrackerSchedule(uint64_t seed) : rng_(seed, 0x5c4ed), log_(LogLevel::off) {
  if (rng_.below(4) != 0) {
    faults_.crashes = pick(4);
    faults_.joins = pick(3);
    faults_.disk_losses = pick(4);
    const uint64_t odds[] = {0, 3, 8, 20};
    faults_.failure_odds = odds[pick(4)];
    faults_.replay = one_in(2);
  }
  job_ = random_job(rng_);
  for (const Plan& plan : job_) {
    for (const PlanStage& stage : plan.stages) stages_[stage.id] = &stage;
  }
  const uint32_t processes = 1 + pick(4);
  for (uint32_t i = 0; i < processes; ++i) add_process();
  publish();
  known_ = tables_.front();
  tables_.clear();
  tracker_ = std::make_unique<Tracker>(log_, known_);
}

void TrackerSchedule::add_process() {
  const auto id = static_cast<ProcessId>(processes_.size());
  processes_[id];
  const uint32_t workers = id == 0 ? 1 + pick(3) : 1 + pick(2);
  for (uint32_t i = 0; i < workers; ++i) workers_[next_worker_++].process = id;
}

void TrackerSchedule::publish() {
  std::vector<Member> members;
  std::vector<ProcessInfo> infos;
  for (const auto& [id, worker] : workers_) members.push_back({id, worker.process});
  for (const auto& [id, process] : processes_) {
    if (process.alive) infos.push_back({id, "host" + std::to_string(id), ""});
  }
  tables_.push_back(std::make_shared<const Membership>(++epoch_, members, infos));
}

void TrackerSchedule::crash_process() {
  if (getenv("DBG")) std::fprintf(stderr, "die\n");
  std::vector<ProcessId> victims;
  for (const auto& [id, process] : processes_) {
    if (id != 0 && process.alive) victims.push_back(id);
  }
  if (victims.empty()) return;
  const ProcessId victim = victims[pick(victims.size())];
  Process& process = processes_.at(victim);
  for (const auto& [key, stored] : process.store) ++allowed_reruns_[key];
  process = Process{false, {}, {}};
  for (auto at = workers_.begin(); at != workers_.end();) {
    if (at->second.process != victim) {
      ++at;
      continue;
    }
    // Some of its last messages arrive: now, or never.
    while (!at->second.outbox.empty() && one_in(2)) {
      deliver(at->first, std::move(at->second.outbox.front()));
      at->second.outbox.pop_front();
      collect();
    }
    if (const auto assigned = out_.find(at->first); assigned != out_.end()) {
      ++allowed_reruns_[assigned->second.second];
      out_.erase(assigned);
    }
    at = workers_.erase(at);
  }
  ++counts_.crashes;
  publish();
}

void TrackerSchedule::lose_output() {
  for (auto& [id, process] : processes_) {
    if (!process.alive || process.store.empty() || one_in(2)) continue;
    auto at = process.store.begin();
    std::advance(at, pick(process.store.size()));
    ++allowed_reruns_[at->first];
    disk_lost_.insert({at->first, id});
    process.store.erase(at);
    return;
  }
}

void TrackerSchedule::inject_faults() {
  if (faults_.crashes != 0 && one_in(60)) {
    --faults_.crashes;
    crash_process();
  }
  if (faults_.joins != 0 && one_in(60)) {
    --faults_.joins;
    ++counts_.joins;
    add_process();
    publish();
  }
  if (faults_.disk_losses != 0 && one_in(40)) {
    --faults_.disk_losses;
    lose_output();
  }
}

// ---- frames in flight ----

void TrackerSchedule::collect() {
  for (Frame& frame : tracker_->take_frames()) sent(std::move(frame));
}

/// Records a frame of the tracker when it is sent.
void TrackerSchedule::sent(Frame&& frame) {
  if (getenv("DBG")) {
    std::fprintf(stderr, "<- %x kind %x tag %u", frame.dst, (unsigned)frame.kind, frame.tag);
    if (frame.kind == mapreduce_kind::task) {
      auto n = read_message<TaskOrder>(frame).value().task;
      std::fprintf(stderr, " s%u t%u a%u", n.stage, n.task, n.attempt);
    }
    std::fprintf(stderr, "\n");
  }
  if (is_data(frame.dst)) {
    Process& process = processes_.at(address_index(frame.dst));
    const ForgetOutputs list = read_message<ForgetOutputs>(frame).value();
    for (const StageId stage : list.stages) {
      for (const auto& [key, stored] : process.store) allowed_reruns_[key] += key.first == stage ? 1 : 0;
    }
    if (process.alive) process.inbox.emplace_back(now_, std::move(frame));
    return;
  }
  const auto worker = workers_.find(frame.dst);
  if (frame.kind == mapreduce_kind::outcome) check_outcome(read_message<ActionOutcome>(frame).value(), frame.tag);
  if (frame.kind == mapreduce_kind::task) {
    const TaskAttemptId name = read_message<TaskOrder>(frame).value().task;
    const TaskKey key{name.stage, name.task};
    ++counts_.tasks;
    ++runs_[key];
    for (const auto& [other, assigned] : out_) {
      if (assigned.second == key && assigned.first != frame.tag)
        ++allowed_reruns_[key];  // two actions make it at a time
      REQUIRE_FALSE((assigned.second == key && assigned.first == frame.tag));
    }
    if (worker == workers_.end()) {
      ++allowed_reruns_[key];  // sent to a worker that has just failed
    } else {
      REQUIRE(out_.emplace(frame.dst, std::pair(frame.tag, key)).second);
    }
    INFO("stage " << key.first << ", task " << key.second);
    REQUIRE(runs_[key] <= 1 + allowed_reruns_[key]);
  }
  if (worker != workers_.end()) worker->second.inbox.push_back(std::move(frame));
}

void TrackerSchedule::send(Worker& worker, Frame&& frame) { worker.outbox.push_back(std::move(frame)); }

namespace {

bool is_result(const Frame& failed) { return read_message<TaskFailed>(failed).value().task.stage == 0; }

}  // namespace

void TrackerSchedule::deliver(NodeId id, Frame&& frame) {
  if (getenv("DBG"))
    std::fprintf(stderr, "-> w%u kind %x tag %u known %d\n", id, (unsigned)frame.kind, frame.tag,
                 (int)known_->alive(id));
  frame.src = worker_address(id);
  if (frame.kind == mapreduce_kind::done || (frame.kind == mapreduce_kind::failed && !is_result(frame))) out_.erase(id);
  if (frame.kind == mapreduce_kind::failed && known_->alive(id)) {
    const TaskFailed failed = read_message<TaskFailed>(frame).value();
    const TaskKey key{failed.task.stage, failed.task.task};
    if (failed.lost.empty()) errors_[{frame.tag, key}].push_back(failed.error.message);
  }
  if (frame.kind == mapreduce_kind::begin && known_->alive(id)) released_.insert(frame.tag);
  tracker_->handle(std::move(frame), now_);
}

/// Runs one event; returns false when only time can pass.
bool TrackerSchedule::step() {
  now_ += 1e-4;
  std::vector<std::function<void()>> possible;
  if (!tables_.empty()) {
    possible.emplace_back([this] {
      known_ = tables_.front();
      if (getenv("DBG")) std::fprintf(stderr, "table %u\n", (unsigned)known_->size());
      tables_.pop_front();
      tracker_->membership_changed(known_, now_);
    });
  }
  for (auto& [id, process] : processes_) {
    if (!process.alive || process.inbox.empty()) continue;
    possible.emplace_back([this, id = id, &process = process] {
      forget(id, process.inbox.front().first, process.inbox.front().second);
      process.inbox.pop_front();
    });
  }
  for (auto& [id, worker] : workers_) {
    if (!worker.outbox.empty()) {
      possible.emplace_back([this, id = id, &worker = worker] {
        deliver(id, std::move(worker.outbox.front()));
        worker.outbox.pop_front();
      });
    }
    if (!worker.inbox.empty() && worker.state != Worker::State::working) {
      possible.emplace_back([this, id = id, &worker = worker] {
        const Frame frame = std::move(worker.inbox.front());
        worker.inbox.pop_front();
        receive(id, worker, frame);
      });
    }
    if (worker.state != Worker::State::waiting && worker.state != Worker::State::finished) {
      possible.emplace_back([this, &worker = worker] { act(worker); });
    }
  }
  if (possible.empty()) return false;
  possible[pick(possible.size())]();
  collect();
  return true;
}

void TrackerSchedule::run() {
  for (size_t steps = 0;; ++steps) {
    REQUIRE(steps < 20000);
    inject_faults();
    collect();
    if (step()) continue;
    if (tracker_->wake_at() == kForever) break;
    now_ = std::max(now_, tracker_->wake_at());
    tracker_->tick(now_);
    collect();
  }
  check_end();
}

// ---- the workers ----

void TrackerSchedule::act(Worker& worker) {
  switch (worker.state) {
    case Worker::State::outside: return enter(worker);
    case Worker::State::working: return work(worker);
    case Worker::State::taking: return take_result(worker);
    case Worker::State::waiting:
    case Worker::State::finished: return;
  }
}

void TrackerSchedule::enter(Worker& worker) {
  const bool last = worker.action + 1 == job_.size();
  if (faults_.replay && !last && recorded_.contains(worker.action)) {
    ++counts_.replays;
    // In half of the cases it stops before it reports that it needs nothing.
    if (one_in(2)) send(worker, finished_frame(worker.action));
    ++worker.action;
    return;
  }
  worker.outcomes = 0;
  Plan plan = job_[worker.action];
  if (released_.contains(worker.action) && one_in(2)) plan.forget.clear();  // it has not collected garbage yet
  send(worker, PlanBegin{"", std::move(plan)}.frame(worker.action));
  send(worker, TaskRequest{0}.frame(worker.action));
  worker.state = Worker::State::waiting;
}

void TrackerSchedule::receive(NodeId id, Worker& worker, const Frame& frame) {
  REQUIRE(worker.state == Worker::State::waiting);  // only requested frames arrive
  REQUIRE(frame.tag == worker.action);
  if (frame.kind == mapreduce_kind::task) return receive_order(id, worker, frame);
  REQUIRE(frame.kind == mapreduce_kind::outcome);
  ++worker.outcomes;
  worker.outcome = read_message<ActionOutcome>(frame).value();
  worker.state = Worker::State::taking;
}

void TrackerSchedule::receive_order(NodeId id, Worker& worker, const Frame& frame) {
  worker.order = read_message<TaskOrder>(frame).value();
  for (const TaskInput& input : worker.order.inputs) {
    if (input.form == TaskInput::Form::cached) ++counts_.cached;
  }
  REQUIRE(worker.cache.complete(frame.tag, worker.order).ok());
  check_order(id, worker.order);
  worker.state = Worker::State::working;
}

/// Whether a process has lost an output: the process has failed, or its disk has lost the output.
bool TrackerSchedule::is_lost(const TaskKey& key, ProcessId place) const {
  const Process& process = processes_.at(place);
  return !process.alive || !process.store.contains(key);
}

std::vector<LostInput> TrackerSchedule::missing_inputs(const TaskOrder& order) const {
  std::vector<LostInput> lost;
  const PlanStage& stage = stage_of(order.task.stage);
  for (size_t i = 0; i < order.inputs.size(); ++i) {
    const TaskInput& input = order.inputs[i];
    for (uint32_t at = 0; at < input.places.size(); ++at) {
      const uint32_t task = stage.needs[i].wide ? at : order.task.task - stage.needs[i].first;
      if (is_lost({input.stage, task}, input.places[at])) lost.push_back({input.stage, task, input.places[at]});
    }
  }
  return lost;
}

void TrackerSchedule::work(Worker& worker) {
  const TaskAttemptId& name = worker.order.task;
  const TaskKey key{name.stage, name.task};
  std::vector<LostInput> lost = missing_inputs(worker.order);
  if (!lost.empty()) {
    ++counts_.lost_inputs;
    ++allowed_reruns_[key];
    // A worker finds unreported losses the next time; it may report all losses of a failed process at once.
    if (one_in(2)) lost.resize(1);
    for (LostInput& input : lost) {
      if (!processes_.at(input.process).alive && one_in(2)) input.task = kEveryTask;
    }
    send(worker, TaskFailed{name, {Code::peer_lost, "no inputs"}, std::move(lost)}.frame(worker.action));
  } else if (one_in(faults_.failure_odds)) {
    ++counts_.failures;
    ++allowed_reruns_[key];
    const std::string text = "boom " + std::to_string(counts_.failures) + ".";
    send(worker, TaskFailed{name, {Code::script, text}, {}}.frame(worker.action));
  } else {
    Process& process = processes_.at(worker.process);
    process.store[key] = now_;
    disk_lost_.erase({key, worker.process});
    send(worker, TaskDone{name, {{1, 1, 1, 1, 0.1, 0, 0}, Blob::copy_of("x")}}.frame(worker.action));
  }
  send(worker, TaskRequest{worker.outcomes}.frame(worker.action));
  worker.state = Worker::State::waiting;
}

void TrackerSchedule::take_result(Worker& worker) {
  if (!worker.outcome.ok) return leave_action(worker, one_in(2));
  TaskFailed lost;
  lost.error = {Code::io, "the result is not there"};
  bool dead = false;
  const StageId result = job_[worker.action].stages.back().id;
  for (uint32_t task = 0; task < worker.outcome.places.size(); ++task) {
    const ProcessId place = worker.outcome.places[task];
    if (!is_lost({result, task}, place)) continue;
    dead = dead || !processes_.at(place).alive;
    lost.lost.push_back({result, task, place});
  }
  if (lost.lost.empty()) return leave_action(worker, true);
  ++counts_.lost_results;
  if (!dead || one_in(2)) send(worker, lost.frame(worker.action));
  send(worker, TaskRequest{worker.outcomes}.frame(worker.action));
  worker.state = Worker::State::waiting;
}

/// After an error a script may continue without reporting that it has finished.
void TrackerSchedule::leave_action(Worker& worker, bool finished) {
  if (worker.outcome.ok) recorded_.insert(worker.action);
  for (const StageFigures& stage : worker.outcome.stages) counts_.reused += stage.reused;
  ++worker.action;
  if (finished || worker.action == job_.size()) send(worker, finished_frame(worker.action - 1));
  worker.state = worker.action == job_.size() ? Worker::State::finished : Worker::State::outside;
}

void TrackerSchedule::forget(ProcessId id, double sent, const Frame& frame) {
  const ForgetOutputs list = read_message<ForgetOutputs>(frame).value();
  for (const StageId stage : list.stages) {
    const auto listed = [stage](const Plan& plan) {
      return std::find(plan.forget.begin(), plan.forget.end(), stage) != plan.forget.end();
    };
    REQUIRE((!stage_of(stage).keep || std::any_of(job_.begin(), job_.end(), listed)));
    for (uint32_t task = 0; task < stage_of(stage).tasks; ++task) forget(id, sent, {stage, task});
  }
  for (const auto& [stage, task] : list.tasks) forget(id, sent, TaskKey{stage, task});
}

/// A later action may have made the output again before the `forget` arrives: the output is then lost as on a broken
/// disk.
void TrackerSchedule::forget(ProcessId id, double sent, const TaskKey& key) {
  auto& store = processes_.at(id).store;
  const auto found = store.find(key);
  if (found == store.end()) return;
  if (found->second > sent) {
    ++allowed_reruns_[key];
    disk_lost_.insert({key, id});
  }
  store.erase(found);
}

// ---- the invariants ----

void TrackerSchedule::check_order(NodeId id, const TaskOrder& order) {
  REQUIRE(out_.at(id).second == TaskKey(order.task.stage, order.task.task));
  const PlanStage& stage = stage_of(order.task.stage);
  REQUIRE(order.inputs.size() == stage.needs.size());
  for (size_t i = 0; i < stage.needs.size(); ++i) {
    const PlanDependency& need = stage.needs[i];
    const PlanStage& parent = stage_of(need.stage);
    const bool part = order.task.task >= need.first && order.task.task - need.first < parent.tasks;
    REQUIRE(order.inputs[i].stage == need.stage);
    REQUIRE(order.inputs[i].places.size() == (need.wide ? parent.tasks : part ? 1 : 0));
    for (uint32_t at = 0; at < order.inputs[i].places.size(); ++at) {
      const TaskKey key{need.stage, need.wide ? at : order.task.task - need.first};
      const ProcessId place = order.inputs[i].places[at];
      REQUIRE(place != kNoProcess);
      // The output exists, unless the tracker could not know of its loss.
      if (is_lost(key, place) && processes_.at(place).alive) REQUIRE(disk_lost_.contains({key, place}));
    }
  }
}

void TrackerSchedule::check_outcome(const ActionOutcome& outcome, uint32_t action) {
  const PlanStage& result = job_.at(action).stages.back();
  if (!outcome.ok) {
    ++counts_.failed_actions;
    // A worker that begins an action when all others are through has it recomputed, with its own failures.
    const auto explains = [&](const auto& entry) {
      const auto& [name, errors] = entry;
      if (name.first != action || errors.size() < kMaxFailures) return false;
      return std::any_of(errors.begin(), errors.end() - (kMaxFailures - 1),
                         [&](const auto& text) { return outcome.message.find(text) != std::string::npos; });
    };
    INFO(outcome.message);
    REQUIRE(std::any_of(errors_.begin(), errors_.end(), explains));
    return;
  }
  REQUIRE(outcome.places.size() == result.tasks);
  for (uint32_t task = 0; task < result.tasks; ++task) {
    const ProcessId place = outcome.places[task];
    const TaskKey key{result.id, task};
    REQUIRE(known_->process(place) != nullptr);
    if (is_lost(key, place) && processes_.at(place).alive) REQUIRE(disk_lost_.contains({key, place}));
  }
  std::set<TaskKey> counted;
  for (const Accumulated& item : outcome.accumulators) REQUIRE(counted.insert({item.stage, item.task}).second);
}

void TrackerSchedule::check_end() {
  for (const auto& [id, worker] : workers_) {
    INFO("worker " << id << " remains at action " << worker.action);
    REQUIRE(worker.state == Worker::State::finished);
    REQUIRE(worker.inbox.empty());
  }
  REQUIRE(out_.empty());
  REQUIRE(tracker_->actions() == 0);
  REQUIRE_FALSE(tracker_->progress());
  for (const auto& [id, process] : processes_) {
    for (const auto& [key, stored] : process.store) {
      const auto [stage, task] = key;
      INFO("stage " << stage << ", task " << task << " remains in process " << id);
      REQUIRE(stage_of(stage).keep);
      for (const Plan& plan : job_) {
        REQUIRE(std::find(plan.forget.begin(), plan.forget.end(), stage) == plan.forget.end());
      }
    }
  }
}

}  // namespace actorhost::test
