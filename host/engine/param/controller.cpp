#include "host/engine/param/controller.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace actorhost {

namespace {

constexpr uint64_t kAllSteps = ~uint64_t{0};

bool in_order(const CommitItem& a, const CommitItem& b) {
  return a.step != b.step ? a.step < b.step : a.worker < b.worker;
}

}  // namespace

ParamController::ParamController(const ControllerConfig& config, BarrierRule& rule, ParamShard& own, Log& log,
                                 std::vector<Frame>& out)
    : config_(config),
      own_(own),
      log_(log),
      out_(out),
      trace_(config.trace),
      gate_(progress_, rule),
      was_bsp_(rule.staleness() == 0) {
  if (config_.board != nullptr) config_.board->begin(config_.run, config_.barrier);
  const RunState& before = config_.resumed;
  slowest_ = before.clocks.empty() ? 0 : ~uint64_t{0};
  for (const auto& [id, clock] : before.clocks) slowest_ = std::min(slowest_, clock);
  for (const NodeId id : config_.members) {
    const auto clock = before.clocks.find(id);
    const uint64_t step = clock == before.clocks.end() ? slowest_ : clock->second;
    if (!progress_.add(id, static_cast<int32_t>(step)).ok()) continue;
    workers_[id].step = step;
    if (config_.board != nullptr) workers_[id].row = &config_.board->worker(id);
    absent_.insert(id);
  }
  if (config_.filtered) summary_.traffic.emplace();
  updates_ = before.updates;
  checkpoints_ = before.number;
  checkpoint_step_ = slowest_;
  checkpoint_updates_ = before.updates;
  if (config_.finished) {
    summary_ = *config_.finished;
    phase_ = Phase::finished;
  }
}

ParamController::~ParamController() {
  if (config_.trace != nullptr) config_.trace->flush();
}

uint64_t ParamController::clock_of(NodeId id) const {
  const Slot slot = progress_.slot(id);
  return slot == kNoSlot ? 0 : static_cast<uint64_t>(progress_.steps()[slot]);
}

void ParamController::note_slowest() {
  if (progress_.size() != 0) slowest_ = static_cast<uint64_t>(progress_.min());
}

bool ParamController::has_unready_workers() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) { return !entry.second.ready; });
}

double ParamController::elapsed(double now) const {
  return config_.resumed.seconds + (started_ < 0 ? 0 : now - started_);
}

StopContext ParamController::context(double now) const {
  return {slowest_, updates_, elapsed(now), static_cast<uint32_t>(workers_.size())};
}

// --- arrivals

void ParamController::on_ready(NodeId id, double now) {
  if (removed_.count(id) != 0) return;  // the sender failed while its frame was in flight
  if (phase_ == Phase::finished) return send_stop(id);
  Worker& worker = workers_[id];
  if (worker.ready) return;
  latest_ = now;
  if (started_ < 0) {
    started_ = checkpoint_time_ = now;
    if (trace_ != nullptr) record_begin(now);
  }
  if (progress_.slot(id) == kNoSlot) {
    // The worker was not a member when the run began. It counts from now on and starts at the minimum clock.
    if (const Status joined = progress_.join(id, static_cast<int32_t>(slowest_)); !joined.ok()) {
      log_.error("server 0", joined.error().message);
      return;
    }
    worker.step = clock_of(id);
    if (trace_ != nullptr) trace_->join(id, worker.step, now);
  }
  worker.ready = true;
  absent_.erase(id);
  if (config_.board != nullptr && worker.row == nullptr) worker.row = &config_.board->worker(id);
  if (worker.row != nullptr) worker.row->set_waiting(worker.step, now);
  if (phase_ != Phase::stopping) gate_.request(id, now);
}

void ParamController::on_done(NodeId id, uint64_t step, double seconds, double now, const ParamTraffic& traffic) {
  const auto found = workers_.find(id);
  if (found == workers_.end() || !found->second.busy || found->second.step != step) return;
  Worker& worker = found->second;
  latest_ = now;
  if (summary_.traffic) *summary_.traffic += traffic;
  if (trace_ != nullptr) record_step(id, worker, seconds, now);
  worker.busy = false;
  worker.task.clear();
  ++worker.step;
  --busy_;
  newest_ = std::max(newest_, step);
  if (worker.row != nullptr) {
    if (const Slot slot = progress_.slot(id); slot != kNoSlot) {
      config_.board->step_seconds.add(now - progress_.started()[slot]);
    }
    worker.row->set_waiting(worker.step, now);
  }
  if (worker.staged) {
    merge_arrived(id, step);
  } else {
    ++updates_;
    settle(id, step, true);
  }
  progress_.complete(id, now);
  note_slowest();
  offer_ = true;
  if (phase_ != Phase::stopping) gate_.request(id, now);
}

void ParamController::joined(NodeId id) {
  if (removed_.count(id) == 0) workers_.try_emplace(id);
}

void ParamController::lost(NodeId id, double now) {
  removed_.insert(id);
  absent_.erase(id);
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  Worker worker = std::move(found->second);
  workers_.erase(found);
  if (worker.row != nullptr) worker.row->set_away(now);
  latest_ = now;
  if (trace_ != nullptr && started_ >= 0 && progress_.slot(id) != kNoSlot) {
    if (worker.busy) trace_->open_step(id, worker.step, worker.released, now);
    trace_->leave(id, worker.step, now);
  }
  // Completed pushes count. No part of an unfinished push may be merged on any shard.
  discard({config_.run, id, Discard::Extent::all, worker.step});
  LostNotice notice{id, std::move(worker.task)};
  if (worker.busy) {
    --busy_;
    notice.task = take_number(id, worker.step);
  }
  lost_.push_back(std::move(notice));
  progress_.remove(id);
  note_slowest();
  std::erase(passed_, id);
  if (phase_ != Phase::finished) ++summary_.lost;  // later failures do not count: all workers get the same summary
  offer_ = true;
}

// --- merging

void ParamController::commit(std::vector<CommitItem> items, bool mean) {
  if (items.empty()) return;
  updates_ += items.size();
  for (const CommitItem& item : items) settle(item.worker, item.step, true);
  const Commit commit{config_.run, mean, std::move(items)};
  // Sends the commit to the other shards first, so that it precedes all later frames to workers.
  for (uint32_t shard = 1; shard < config_.shards; ++shard)
    out_.push_back(message_frame(param_kind::commit, server_address(shard), 0, commit));
  own_.commit(commit);
}

void ParamController::discard(const Discard& discard) {
  for (uint32_t shard = 1; shard < config_.shards; ++shard) {
    out_.push_back(message_frame(param_kind::discard, server_address(shard), 0, discard));
  }
  own_.discard(discard);
}

void ParamController::merge_arrived(NodeId id, uint64_t step) {
  if (was_bsp_ || cut_ != Cut::none) {
    staged_.push_back({id, step, 1});
  } else {
    merge_item({id, step, 1});
  }
}

void ParamController::merge_item(CommitItem item) {
  const MergePolicy& policy = config_.merge;
  const uint64_t staleness = newest_ > item.step ? newest_ - item.step : 0;
  switch (policy.kind) {
    case MergePolicy::Kind::all:
    case MergePolicy::Kind::mean: return commit({item}, false);
    case MergePolicy::Kind::drop:
      if (staleness <= policy.later_than) return commit({item}, false);
      ++summary_.dropped;
      settle(item.worker, item.step, false);
      return discard({config_.run, item.worker, Discard::Extent::one, item.step});
    case MergePolicy::Kind::scale:
      item.scale = std::pow(1 + static_cast<double>(staleness), -policy.exponent);
      return commit({item}, false);
    case MergePolicy::Kind::buffer:
      item.scale = 1 / static_cast<double>(policy.k);
      buffered_.push_back(item);
      if (buffered_.size() >= policy.k) commit(std::exchange(buffered_, {}), true);
      return progress_.set_buffered(buffered_.size());
  }
}

// Merges the complete pushes of clocks below `below`, in (step, worker) order.
void ParamController::flush_staged(uint64_t below) {
  std::sort(staged_.begin(), staged_.end(), in_order);
  const auto end = std::find_if(staged_.begin(), staged_.end(), [&](const auto& item) { return item.step >= below; });
  std::vector<CommitItem> items(staged_.begin(), end);
  staged_.erase(staged_.begin(), end);
  // Makes one commit for the whole barrier if the policy allows it.
  if (config_.merge.kind == MergePolicy::Kind::all) return commit(std::move(items), false);
  if (config_.merge.kind == MergePolicy::Kind::mean) return commit_means(items);
  for (const CommitItem& item : items) merge_item(item);
}

void ParamController::flush_buffered() {
  commit(std::exchange(buffered_, {}), true);
  progress_.set_buffered(0);
}

// Makes one update for each clock. `items` are in order.
void ParamController::commit_means(const std::vector<CommitItem>& items) {
  for (auto first = items.begin(); first != items.end();) {
    const auto last =
        std::find_if(first, items.end(), [&](const CommitItem& item) { return item.step != first->step; });
    std::vector<CommitItem> round(first, last);
    for (CommitItem& item : round) item.scale = 1 / static_cast<double>(round.size());
    commit(std::move(round), true);
    first = last;
  }
}

// --- deciding

std::optional<ServerRequest> ParamController::next(double now) {
  latest_ = now;
  if (config_.trace != nullptr) config_.trace->poll(now);
  check_time_limit(now);
  log_long_wait(now);
  if (!lost_.empty() && phase_ != Phase::failed && phase_ != Phase::finished) {
    LostNotice notice = std::move(lost_.front());
    lost_.erase(lost_.begin());
    return notice;
  }
  if (was_bsp_ != bsp() && cut_ == Cut::none) {  // the rule has changed
    was_bsp_ = bsp();
    if (!was_bsp_) flush_staged(kAllSteps);
  }
  // Decides nothing while a Lua pull runs: decisions must see its merged values.
  if (own_.in_pull()) return std::nullopt;
  switch (phase_) {
    case Phase::running: return run(now);
    case Phase::merged: return decide(now);
    case Phase::to_schedule: return schedule(now);
    case Phase::stopping: return finish(now);
    case Phase::awaiting_stop:
    case Phase::awaiting_schedule:
    case Phase::finished:
    case Phase::failed: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ServerRequest> ParamController::run(double now) {
  // BSP begins with all workers, so the first schedule does not depend on the order of their arrival.
  if (was_bsp_ && !absent_.empty()) return std::nullopt;
  if (const Status polled = gate_.poll(now, passed_); !polled.ok()) return fail(polled.error());
  if (trace_ != nullptr) record_passed(now);
  if (config_.board != nullptr) show_gate();
  // Offers parked workers again after a change; under BSP at barriers, or when all workers are parked.
  const bool again = offer_ && (!was_bsp_ || progress_.size() == 0) && !parked().empty();
  if (passed_.empty() && !again && !std::exchange(checkpoint_urgent_, false)) return check_stuck();
  // A joining worker may pass in the middle of a round. The pushes of that round still wait for the barrier.
  flush_staged(progress_.size() == 0 ? kAllSteps : slowest_);
  phase_ = Phase::merged;
  if (own_.in_pull()) return std::nullopt;
  return decide(now);
}

std::optional<ServerRequest> ParamController::decide(double now) {
  if (cut_ != Cut::none || checkpoint_due(now)) return cut(now);
  if (!was_bsp_) flush_staged(kAllSteps);  // pushes that arrived after a checkpoint had begun
  if (own_.in_pull()) return std::nullopt;
  phase_ = Phase::awaiting_stop;
  return StopRequest{context(now)};
}

void ParamController::answer_stop(bool stop) {
  if (phase_ != Phase::awaiting_stop) return;
  phase_ = Phase::to_schedule;
  if (stop) begin_stop("stop");
}

std::vector<NodeId> ParamController::parked() const {
  std::vector<NodeId> out;
  for (const auto& [id, worker] : workers_) {
    if (worker.parked) out.push_back(id);
  }
  return out;
}

std::optional<ServerRequest> ParamController::schedule(double now) {
  phase_ = Phase::running;
  if (config_.local_schedule) {
    for (const NodeId id : std::exchange(passed_, {})) release(id, {}, now);
    return std::nullopt;
  }
  ScheduleRequest request{parked()};
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
    if (workers_.count(id) != 0) continue;
    lost_.push_back({id, std::move(entries)});  // failed while `schedule` was running
    if (const auto number = numbers.find(id); number != numbers.end()) lost_.back().task = number->second;
  }
  for (const NodeId id : requested_) {
    const auto worker = workers_.find(id);
    if (worker == workers_.end()) continue;
    const auto task = tasks.find(id);
    const bool parks = task == tasks.end();
    if (parks && !worker->second.parked) {
      progress_.park(id);
      if (worker->second.row != nullptr) worker->second.row->set_away(now);
      if (trace_ != nullptr) trace_->leave(id, worker->second.step, now);
    }
    if (!parks && worker->second.parked) {
      progress_.unpark(id);
      worker->second.released = now;
      if (trace_ != nullptr) trace_->join(id, clock_of(id), now);
    }
    worker->second.parked = parks;
    if (parks) continue;
    if (const auto number = numbers.find(id); number != numbers.end()) numbers_[{id, clock_of(id)}] = number->second;
    release(id, std::move(task->second), now);
  }
  note_slowest();
  if (busy_ != 0 || progress_.waiting() != 0 || !lost_.empty() || workers_.empty() || has_unready_workers()) return {};
  if (!buffered_.empty()) {  // no push will fill the buffer: merges its content and asks again
    flush_buffered();
    offer_ = true;
    return {};
  }
  phase_ = Phase::failed;
  return Error{Code::bad_argument, "schedule gave none of the workers (" + worker_list(requested_) +
                                       ") an entry, no worker is working, and stop does not return true: the run would "
                                       "never end. Return work for at least one worker, or make stop return true"};
}

void ParamController::release(NodeId id, std::vector<ParamEntry> entries, double now) {
  Worker& worker = workers_[id];
  worker.busy = true;
  worker.staged = was_bsp_ || config_.saves || config_.merge.kind != MergePolicy::Kind::all;
  worker.step = clock_of(id);
  ++busy_;
  if (worker.row != nullptr) worker.row->set_working(now);
  progress_.start(id, now);
  progress_.pulled(id, static_cast<double>(updates_));
  send_task(id, worker, entries);
  worker.task = std::move(entries);
}

void ParamController::send_task(NodeId id, const Worker& worker, const std::vector<ParamEntry>& entries) {
  // A push that is committed before the worker's next task needs no copy.
  const bool held = worker.staged && (was_bsp_ || config_.merge.kind == MergePolicy::Kind::all);
  const TaskHead head{config_.run,       worker.step,     worker.staged, held, config_.local_schedule,
                      trace_ != nullptr, config_.filtered};
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
  stopped_ = latest_;
  summary_.reason = reason;
  passed_.clear();
  if (trace_ != nullptr) record_stop();
}

void ParamController::check_time_limit(double now) {
  latest_ = now;
  if (started_ < 0 || now - started_ < config_.seconds) return;
  if (phase_ == Phase::finished || phase_ == Phase::failed || phase_ == Phase::stopping) return;
  begin_stop("seconds");
  drop_in_flight();
}

// Drops incomplete pushes. As with a failed worker, parts that a shard has already applied stay applied; only rules
// without order apply incomplete pushes.
void ParamController::drop_in_flight() {
  for (auto& [id, worker] : workers_) {
    if (!worker.busy) continue;
    discard({config_.run, id, Discard::Extent::rest, worker.step});
    worker.busy = false;
    worker.task.clear();
    ++summary_.in_flight;
  }
  busy_ = 0;
}

std::optional<ServerRequest> ParamController::finish(double now) {
  if (cut_ != Cut::none) return cut(now);
  if (busy_ != 0) return std::nullopt;
  flush_staged(kAllSteps);
  flush_buffered();
  if (own_.in_pull()) return std::nullopt;
  const CheckpointPlan& plan = config_.checkpoint;
  const bool wanted = plan.steps != 0 || plan.seconds > 0 || checkpoint_requested_;
  if (wanted && !std::exchange(last_cut_, true)) return cut(now);
  summary_.steps = slowest_;
  summary_.updates = updates_;
  summary_.seconds = elapsed(now);
  phase_ = Phase::finished;
  if (summary_.traffic) log_traffic();
  for (const auto& [id, worker] : workers_) {
    if (worker.ready) send_stop(id);
    if (worker.row != nullptr) worker.row->set_away(now);
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
  if (started_ < 0 || busy_ != 0 || has_unready_workers()) return std::nullopt;
  if (workers_.empty()) return fail({Code::peer_lost, "all workers of the run are lost"});
  if (progress_.waiting() == 0 || gate_.next_time() != kForever) return std::nullopt;
  std::vector<NodeId> waiting;
  for (const auto& [id, worker] : workers_) {
    if (worker.ready && !worker.parked) waiting.push_back(id);
  }
  return fail({Code::bad_argument, "the barrier holds all workers (" + worker_list(waiting) +
                                       ") back and none is working: its rule would never let a worker pass"});
}

double ParamController::next_time() const {
  const double flush = config_.trace != nullptr ? config_.trace->next_time() : kForever;
  if (phase_ == Phase::stopping) return std::min(flush, busy_ != 0 ? next_wait_check_ : kForever);
  if (phase_ != Phase::running || started_ < 0) return flush;
  const double gate = was_bsp_ && !absent_.empty() ? kForever : gate_.next_time();
  const double waits = progress_.waiting() != 0 ? next_wait_check_ : kForever;
  return std::min({gate, started_ + config_.seconds, flush, waits});
}

}  // namespace actorhost
