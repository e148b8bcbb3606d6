#include "host/engine/param/controller.hpp"

#include <algorithm>

namespace actorhost {

namespace {

/// The clock of the slowest worker of a resumed run.
uint64_t slowest_of(const RunState& resumed) {
  uint64_t slowest = resumed.clocks.empty() ? 0 : ~uint64_t{0};
  for (const auto& [id, clock] : resumed.clocks) slowest = std::min(slowest, clock);
  return slowest;
}

}  // namespace

ParamController::ParamController(const ControllerConfig& config, BarrierRule& rule, ParamShard& own, Log& log,
                                 std::vector<Frame>& out)
    : config_(config),
      own_(own),
      out_(out),
      gate_(progress_, rule),
      was_bsp_(rule.staleness() == 0),
      slowest_(slowest_of(config.resumed)),
      merger_(config.run, config.shards, config.merge == nullptr ? merge_all_ : *config.merge, config.resumed.updates,
              progress_, own, out),
      checkpoints_({config.checkpoint, config.shards, config.lua_pull, config.keeps_tasks}, config.resumed, slowest_,
                   out),
      recorder_(config.run, config.barrier, config.merge_name, config.trace, config.board, log),
      log_(log, config.long_wait, config.push_place) {
  const std::map<NodeId, uint64_t>& clocks = config_.resumed.clocks;
  for (const NodeId id : config_.members) {
    const auto clock = clocks.find(id);
    const uint64_t step = clock == clocks.end() ? slowest_ : clock->second;
    if (!progress_.add(id, static_cast<int32_t>(step)).ok()) continue;
    RunWorker& worker = workers_.expect(id);
    worker.step = step;
    recorder_.add(id, worker.record);
  }
  if (config_.filtered) summary_.traffic.emplace();
  if (config_.finished) {
    summary_ = *config_.finished;
    phase_ = Phase::finished;
  }
}

uint64_t ParamController::clock_of(NodeId id) const {
  const Slot slot = progress_.slot(id);
  return slot == kNoSlot ? 0 : static_cast<uint64_t>(progress_.steps()[slot]);
}

void ParamController::note_slowest() {
  if (progress_.size() != 0) slowest_ = static_cast<uint64_t>(progress_.min());
}

StopContext ParamController::context(double now) const {
  return {slowest_, merger_.updates(), elapsed(now), workers_.size()};
}

// --- arrivals

void ParamController::on_ready(NodeId id, double now) {
  if (workers_.removed(id)) return;  // the sender failed while its frame was in flight
  if (phase_ == Phase::finished) return send_stop(id);
  RunWorker& worker = workers_.at(id);
  if (worker.ready) return;
  times_.latest = now;
  if (!began()) {
    times_.began = now;
    checkpoints_.begin(now);
    recorder_.begin(progress_, now);
  }
  if (progress_.slot(id) == kNoSlot) {
    // The worker was not a member when the run began. It counts from now on and starts at the minimum clock.
    if (const Status joined = progress_.join(id, static_cast<int32_t>(slowest_)); !joined.ok()) {
      log_.error(joined.error());
      return;
    }
    worker.step = clock_of(id);
    recorder_.count(id, worker.record, worker.step, now);
  }
  workers_.set_ready(id, worker);
  recorder_.add(id, worker.record);
  worker.record.set_waiting(worker.step, now);
  if (phase_ != Phase::stopping) gate_.request(id, now);
}

void ParamController::on_done(NodeId id, uint64_t step, double seconds, double now, const ParamTraffic& traffic) {
  RunWorker* worker = workers_.find(id);
  if (worker == nullptr || !worker->busy || worker->step != step) return;
  times_.latest = now;
  if (summary_.traffic) *summary_.traffic += traffic;
  const Slot slot = progress_.slot(id);
  recorder_.complete(id, worker->record, step + 1, seconds, slot == kNoSlot ? now : progress_.started()[slot], now);
  workers_.end_task(*worker);
  ++worker->step;
  const bool held = was_bsp_ || checkpoints_.active();
  const auto arrival = !worker->staged ? PushMerger::Arrival::applied
                       : held          ? PushMerger::Arrival::staged
                                       : PushMerger::Arrival::complete;
  merger_.on_push(id, step, arrival, worker->uncopied, now);
  progress_.complete(id, now);
  note_slowest();
  offer_ = true;
  if (phase_ != Phase::stopping) gate_.request(id, now);
}

std::vector<PendingStep> ParamController::pending() const {
  std::vector<PendingStep> out;
  for (const auto& [id, worker] : workers_) {
    if (worker.busy) out.push_back({id, worker.step, merger_.begun(id)});
  }
  return out;
}

void ParamController::lost(NodeId id, double now) {
  std::optional<RunWorker> worker = workers_.remove(id);
  if (!worker) return;
  times_.latest = now;
  recorder_.lose(id, worker->record, worker->step, progress_.slot(id) != kNoSlot, worker->busy, now);
  // Completed pushes count. No part of an unfinished push may be merged on any shard.
  merger_.discard(id, Discard::Extent::all, worker->step);
  LostNotice notice{id, std::move(worker->task)};
  if (worker->busy) notice.task = merger_.take_number(id, worker->step);
  lost_.push_back(std::move(notice));
  progress_.remove(id);
  note_slowest();
  std::erase(passed_, id);
  if (phase_ != Phase::finished) ++summary_.lost;  // later failures do not count: all workers get the same summary
  offer_ = true;
}

// --- deciding

std::optional<ServerRequest> ParamController::next(double now) {
  recorder_.poll(progress_, now);
  check_time_limit(now);
  if (auto error = merger_.take_error()) return fail(std::move(*error));
  if (!lost_.empty() && phase_ != Phase::failed && phase_ != Phase::finished) {
    LostNotice notice = std::move(lost_.front());
    lost_.erase(lost_.begin());
    return notice;
  }
  if (was_bsp_ != bsp() && !checkpoints_.active()) {  // the rule has changed
    was_bsp_ = bsp();
    if (!was_bsp_) merger_.flush_staged(PushMerger::kAllSteps, now);
  }
  // Decides nothing while a Lua pull runs: decisions must see its merged values.
  if (own_.in_pull()) {
    check_waits(now);
    return std::nullopt;
  }
  switch (phase_) {
    case Phase::running: return run(now);
    case Phase::merged: return decide(now);
    case Phase::to_schedule: return schedule(now);
    case Phase::stopping: check_waits(now); return finish(now);
    case Phase::finished:
      // A run that ended before the resumed checkpoint ends again, for the log of actions.
      if (std::exchange(config_.finished, std::nullopt)) return FinishedNotice{summary_};
      return std::nullopt;
    case Phase::awaiting_stop:
    case Phase::awaiting_schedule:
    case Phase::failed: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ServerRequest> ParamController::run(double now) {
  // BSP begins with all workers, so the first schedule does not depend on the order of their arrival.
  if (was_bsp_ && !workers_.complete()) {
    check_waits(now);
    return std::nullopt;
  }
  if (const Status polled = gate_.poll(now, passed_); !polled.ok()) return fail(polled.error());
  check_waits(now);
  for (const NodeId id : passed_) {
    if (RunWorker* worker = workers_.find(id)) worker->record.released = now;
  }
  recorder_.show_gate(gate_);
  recorder_.show_merges(merger_);
  // Offers parked workers again after a change; under BSP at barriers, or when all workers are parked.
  const bool again = offer_ && (!was_bsp_ || progress_.size() == 0) && !workers_.parked().empty();
  if (passed_.empty() && !again && !checkpoints_.take_urgent()) return check_stuck();
  // A joining worker may pass in the middle of a round. The pushes of that round still wait for the barrier.
  merger_.flush_staged(progress_.size() == 0 ? PushMerger::kAllSteps : slowest_, now);
  phase_ = Phase::merged;
  if (own_.in_pull()) return std::nullopt;
  return decide(now);
}

std::optional<ServerRequest> ParamController::decide(double now) {
  if (checkpoints_.active() || checkpoints_.due(slowest_, now)) return cut(now);
  if (!was_bsp_) merger_.flush_staged(PushMerger::kAllSteps, now);  // pushes that arrived after a checkpoint had begun
  if (own_.in_pull()) return std::nullopt;
  phase_ = Phase::awaiting_stop;
  return StopRequest{context(now)};
}

void ParamController::answer_stop(bool stop) {
  if (phase_ != Phase::awaiting_stop) return;
  phase_ = Phase::to_schedule;
  if (stop) begin_stop("stop");
}

std::optional<ServerRequest> ParamController::cut(double now) {
  if (!checkpoints_.active()) checkpoints_.start(state(now), slowest_, now);
  return checkpoints_.advance();
}

RunState ParamController::state(double now) const {
  RunState state{0, config_.run, {}, merger_.updates(), elapsed(now), {}, config_.seed};
  for (Slot slot = 0; slot < progress_.size(); ++slot) {
    const auto step = static_cast<uint64_t>(progress_.steps()[slot]);
    state.clocks[progress_.ids()[slot]] = was_bsp_ ? std::min(step, slowest_) : step;  // the rest is staged
  }
  return state;
}

std::optional<ServerRequest> ParamController::schedule(double now) {
  phase_ = Phase::running;
  if (config_.local_schedule) {
    for (const NodeId id : std::exchange(passed_, {})) release(id, {}, now);
    return std::nullopt;
  }
  ScheduleRequest request{workers_.parked()};
  request.workers.insert(request.workers.end(), passed_.begin(), passed_.end());
  if (request.workers.empty()) return run(now);  // every passed worker has failed
  std::sort(request.workers.begin(), request.workers.end());
  phase_ = Phase::awaiting_schedule;
  requested_ = request.workers;
  return request;
}

Status ParamController::answer_schedule(std::map<NodeId, std::vector<ParamEntry>> tasks, double now,
                                        const std::map<NodeId, uint64_t>& numbers) {
  check_time_limit(now);
  if (phase_ != Phase::awaiting_schedule) return {};
  phase_ = Phase::running;
  offer_ = false;
  passed_.clear();
  for (auto& [id, entries] : tasks) {
    if (!std::binary_search(requested_.begin(), requested_.end(), id)) {
      phase_ = Phase::failed;
      return Error{Code::bad_argument, "schedule returned entries for worker " + std::to_string(id) +
                                           ", which the request does not name; it names: " + worker_list(requested_)};
    }
    if (workers_.find(id) != nullptr) continue;
    lost_.push_back({id, std::move(entries)});  // failed while `schedule` was running
    if (const auto number = numbers.find(id); number != numbers.end()) lost_.back().task = number->second;
  }
  for (const NodeId id : requested_) {
    RunWorker* worker = workers_.find(id);
    if (worker == nullptr) continue;
    const auto task = tasks.find(id);
    set_parked(id, *worker, task == tasks.end(), now);
    if (worker->parked) continue;
    if (const auto number = numbers.find(id); number != numbers.end()) {
      merger_.set_number(id, clock_of(id), number->second);
    }
    release(id, std::move(task->second), now);
  }
  note_slowest();
  if (workers_.busy() != 0 || progress_.waiting() != 0 || !lost_.empty() || workers_.empty() || !workers_.all_ready())
    return {};
  if (!merger_.held().empty()) {  // no push will follow the held pushes
    merger_.finish(now);
    offer_ = true;
    return {};
  }
  phase_ = Phase::failed;
  return Error{Code::bad_argument, "schedule gave none of the workers (" + worker_list(requested_) +
                                       ") an entry, no worker is working, and stop does not return true: the run would "
                                       "never end. Return work for at least one worker, or make stop return true"};
}

void ParamController::set_parked(NodeId id, RunWorker& worker, bool parked, double now) {
  if (std::exchange(worker.parked, parked) == parked) return;
  if (parked) {
    progress_.park(id);
    recorder_.park(id, worker.record, worker.step, now);
  } else {
    progress_.unpark(id);
    recorder_.unpark(id, worker.record, clock_of(id), now);
  }
}

void ParamController::release(NodeId id, std::vector<ParamEntry> entries, double now) {
  RunWorker& worker = workers_.at(id);
  workers_.begin_task(worker);
  worker.staged = was_bsp_ || config_.saves || merger_.stages();
  // A push that is committed before the worker's next task needs no copy.
  worker.uncopied = worker.staged && !merger_.copies();
  worker.step = clock_of(id);
  worker.record.set_working(now);
  progress_.start(id, now);
  progress_.pulled(id, static_cast<double>(merger_.updates()));
  merger_.begin_step(id);
  send_task(id, worker, entries);
  worker.task = std::move(entries);
}

void ParamController::send_task(NodeId id, const RunWorker& worker, const std::vector<ParamEntry>& entries) {
  const TaskHead head{config_.run,         worker.step,     worker.staged, worker.uncopied, config_.local_schedule,
                      recorder_.records(), config_.filtered};
  EntryPacker task(param_kind::task, worker_address(id), 0, pack(head), true);
  for (const ParamEntry& entry : entries) {
    // With one shard the task carries the values. With more shards the worker requests them from all shards at once.
    if (std::holds_alternative<ParamFetch>(entry.value) && config_.shards == 1) {
      own_.pack_filtered(id, entry.key, task);
    } else {
      task.add(entry);
    }
  }
  task.finish(out_);
}

// --- the end

void ParamController::begin_stop(const std::string& reason) {
  if (phase_ == Phase::finished || phase_ == Phase::failed || phase_ == Phase::stopping) return;
  phase_ = Phase::stopping;
  times_.stopped = times_.latest;
  summary_.reason = reason;
  passed_.clear();
  recorder_.stop(workers_, times_.latest);
}

void ParamController::check_time_limit(double now) {
  times_.latest = now;
  if (!began() || now < times_.began + config_.seconds) return;
  if (phase_ == Phase::finished || phase_ == Phase::failed || phase_ == Phase::stopping) return;
  begin_stop("seconds");
  drop_in_flight();
}

// Drops incomplete pushes. As with a failed worker, parts that a shard has already applied stay applied; only rules
// without order apply incomplete pushes.
void ParamController::drop_in_flight() {
  for (auto& [id, worker] : workers_) {
    if (!worker.busy) continue;
    merger_.discard(id, Discard::Extent::rest, worker.step);
    workers_.end_task(worker);
    ++summary_.in_flight;
  }
}

std::optional<ServerRequest> ParamController::finish(double now) {
  if (checkpoints_.active()) return cut(now);
  if (workers_.busy() != 0) return std::nullopt;
  merger_.flush_staged(PushMerger::kAllSteps, now);
  merger_.finish(now);
  if (auto error = merger_.take_error()) return fail(std::move(*error));
  if (own_.in_pull()) return std::nullopt;
  if (checkpoints_.take_last()) return cut(now);
  recorder_.show_merges(merger_);
  summary_.steps = slowest_;
  summary_.updates = merger_.updates();
  summary_.dropped = merger_.dropped();
  summary_.non_finite = log_.non_finite_pushes();
  summary_.seconds = elapsed(now);
  phase_ = Phase::finished;
  if (summary_.traffic) log_.traffic(*summary_.traffic);
  for (auto& [id, worker] : workers_) {
    if (worker.ready) send_stop(id);
    worker.record.set_away(now);
  }
  return FinishedNotice{summary_};
}

void ParamController::send_stop(NodeId id) {
  out_.push_back(message_frame(param_kind::stop, worker_address(id), 0, Stop{config_.run, summary_}));
}

std::optional<ServerRequest> ParamController::fail(Error error) {
  phase_ = Phase::failed;
  return error;
}

// No worker has passed. Ends the run with an error if no worker ever can.
std::optional<ServerRequest> ParamController::check_stuck() {
  if (!began() || workers_.busy() != 0 || !workers_.all_ready()) return std::nullopt;
  if (workers_.empty()) return fail({Code::peer_lost, "all workers of the run are lost"});
  if (progress_.waiting() == 0 || gate_.next_time() != kForever) return std::nullopt;
  std::vector<NodeId> waiting;
  for (const auto& [id, worker] : workers_) {
    if (worker.ready && !worker.parked) waiting.push_back(id);
  }
  return fail({Code::bad_argument, "the barrier holds all workers (" + worker_list(waiting) +
                                       ") back and none is working: its rule would never let a worker pass"});
}

void ParamController::check_waits(double now) {
  if (!began()) return;
  const bool stopping = phase_ == Phase::stopping;
  log_.check_waits(progress_, workers_, stopping ? std::optional(times_.stopped) : std::nullopt, now);
  log_.check_held(merger_, now);
}

double ParamController::next_time() const {
  const double flush = recorder_.next_time();
  if (phase_ == Phase::stopping) return std::min(flush, workers_.busy() != 0 ? log_.next_check() : kForever);
  if (phase_ != Phase::running || !began()) return flush;
  const double gate = was_bsp_ && !workers_.complete() ? kForever : gate_.next_time();
  const double waits = progress_.waiting() != 0 ? log_.next_check() : kForever;
  return std::min({gate, times_.began + config_.seconds, flush, waits});
}

}  // namespace actorhost
