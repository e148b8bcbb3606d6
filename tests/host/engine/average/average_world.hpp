#pragma once
// A simulated cluster for averaging on virtual time: the agents of several processes and the lead on a network with
// random delays, workers that train and abort at random moments, and failing processes. Owned by the test; one thread;
// everything derives from one seed.
//
// For each model the simulation computes the expected values: the sum of its steps' changes, and for each applied round
// the difference by definition, from the copies at the moment of their processes' reports.

#include <queue>

#include "host/base/random.hpp"
#include "host/engine/average/average_agent.hpp"
#include "host/engine/average/lead.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class AverageWorld {
 public:
  struct Plan {
    uint64_t seed = 1;
    std::vector<uint32_t> workers{1, 1};  // of each process
    AveragePattern peers = AveragePattern::all;
    size_t floats = 100;
    size_t doubles = 7;
    double step = 0.01;      // mean seconds
    double straggler = 1;    // factor for the last worker
    double interval = 0.05;  // seconds
    double deadline = 1;
    int aborts = 2;        // of each worker, with a resume after each
    double between = 0.5;  // mean seconds of training before each abort
    uint32_t warmup = 0;   // steps
    bool late = false;     // the last worker joins late
    double leave = 0;      // probability that a worker leaves for good instead of a step, whatever is in progress
    double growth = 1;     // factor of a step's change of an element; the change is below 1/8
  };

  explicit AverageWorld(const Plan& plan) : plan_(plan), rng_(plan.seed) {
    const auto write_log = [this](const std::string& line) { log_lines.push_back(line); };
    lead_ = std::make_unique<AverageLead>(
        1, [this](ProcessId to, Kind kind, const std::string& meta) { send(0, to, kind, meta, {}); }, write_log);
    NodeId id = 0;
    for (ProcessId process = 0; process < plan.workers.size(); ++process) {
      agents_[process] = std::make_unique<AverageAgent>(
          process, [this, process](ProcessId to, Kind kind, const std::string& meta, Blob body) {
            send(process, to, kind, meta, std::move(body));
          });
      for (uint32_t i = 0; i < plan.workers[process]; ++i) add_worker(id++, process);
    }
    send_membership();
    for (auto& [node, worker] : workers_) at(rng_.uniform() * 0.1, [this, n = node] { join(n); });
  }

  struct Worker {
    ProcessId process = 0;
    std::shared_ptr<AverageReplica> replica;
    Blob floats;
    Blob doubles;
    std::vector<double> shadow;  // the expected model
    std::vector<double> copied;  // for the current round
    std::vector<double> added;   // by steps
    std::vector<double> initial;
    std::function<void()> then;  // continues the worker after its wait
    double stop_at = 0;          // the time of its next abort
    int aborts = 0;
    uint32_t warm_left = 0;
    uint64_t steps = 0;
    bool finished = false;
  };

  void run() {
    for (int events = 0; !queue_.empty(); ++events) {
      REQUIRE(events < 4000000);
      Event event = queue_.top();
      queue_.pop();
      clock_.set(event.time);
      event.call();
      if (all_finished()) return;
    }
  }
  /// Stops before later events.
  void run_until(double time) {
    while (!queue_.empty() && queue_.top().time <= time) {
      Event event = queue_.top();
      queue_.pop();
      clock_.set(event.time);
      event.call();
    }
  }
  /// Sets the time of every worker's first abort.
  void train_until(double time) {
    for (auto& [node, worker] : workers_) worker.stop_at = time;
  }
  /// The process fails: on each link all or none of its frames in flight still arrive, then the lead is notified of the
  /// failure.
  void kill_at(double time, ProcessId process) {
    at(time, [this, process] { kill(process); });
  }
  bool all_finished() const {
    return std::all_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
      return entry.second.finished || dead_.count(entry.second.process) > 0;
    });
  }
  bool dead(const Worker& worker) const { return dead_.count(worker.process) > 0; }
  const std::map<NodeId, Worker>& workers() const { return workers_; }
  std::vector<double> model_of(const Worker& worker) const { return values_of(worker); }
  double now() const { return clock_.now(); }

  /// By the number of the abort: the bits of each worker after the abort.
  std::map<int, std::vector<std::pair<NodeId, std::string>>> after_abort;
  std::vector<std::string> log_lines;
  uint32_t applied = 0;  // rounds
  uint32_t broken = 0;
  uint64_t bytes = 0;  // of pieces

 private:
  struct Event {
    double time;
    uint64_t number;
    std::function<void()> call;
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  struct Channel {
    double last = 0;
    bool cut = false;
  };

  void at(double time, std::function<void()> call) { queue_.push({time, events_++, std::move(call)}); }
  void in(double seconds, std::function<void()> call) { at(clock_.now() + seconds, std::move(call)); }

  void add_worker(NodeId id, ProcessId process) {
    Worker& worker = workers_[id];
    worker.process = process;
    worker.floats = Blob::allocate(plan_.floats * 4);
    worker.doubles = Blob::allocate(plan_.doubles * 8);
    for (size_t i = 0; i < plan_.floats; ++i) float_of(worker, i) = static_cast<float>(rng_.uniform());
    for (size_t i = 0; i < plan_.doubles; ++i) double_of(worker, i) = rng_.uniform();
    worker.shadow = worker.initial = values_of(worker);
    worker.added.assign(worker.shadow.size(), 0);
    worker.warm_left = plan_.warmup;
    worker.stop_at = rng_.exponential(plan_.between);
    const auto wake_courier = [this, process] { schedule_tick(process); };
    std::vector<AverageModel::Part> parts{{"f", Dtype::f32, worker.floats}, {"d", Dtype::f64, worker.doubles}};
    worker.replica = std::make_shared<AverageReplica>(std::move(parts), plan_.interval / 2, clock_, wake_courier);
    worker.replica->set_wake([this, id] { in(0, [this, id] { resume_worker(id); }); });
  }
  static float& float_of(const Worker& w, size_t i) {
    return reinterpret_cast<float*>(const_cast<std::byte*>(w.floats.data()))[i];
  }
  static double& double_of(const Worker& w, size_t i) {
    return reinterpret_cast<double*>(const_cast<std::byte*>(w.doubles.data()))[i];
  }
  std::vector<double> values_of(const Worker& worker) const {
    std::vector<double> values;
    for (size_t i = 0; i < plan_.floats; ++i) values.push_back(float_of(worker, i));
    for (size_t i = 0; i < plan_.doubles; ++i) values.push_back(double_of(worker, i));
    return values;
  }

  // ---- workers ----

  void report(NodeId id, Report::Kind kind) {
    Worker& worker = workers_.at(id);
    Report report{
        kind, id, is_late(id), worker.warm_left > 0, {plan_.peers, plan_.interval, plan_.deadline, plan_.seed}};
    agents_.at(worker.process)->report(report, worker.replica);
    schedule_tick(worker.process);
  }
  bool is_late(NodeId id) const { return plan_.late && id + 1 == workers_.size(); }
  void wait(NodeId id, Report::Kind kind, std::function<void()> then) {
    Worker& worker = workers_.at(id);
    worker.then = std::move(then);
    worker.replica->expect();
    report(id, kind);
  }
  void resume_worker(NodeId id) {
    Worker& worker = workers_.at(id);
    if (dead(worker)) return;
    REQUIRE(worker.replica->settled());
    REQUIRE(worker.replica->outcome().ok());
    std::exchange(worker.then, nullptr)();
  }
  void join(NodeId id) {
    if (dead(workers_.at(id))) return;
    wait(id, Report::Kind::join, [this, id] { begin_step(id); });
  }
  void begin_step(NodeId id) {
    Worker& worker = workers_.at(id);
    if (dead(worker)) return;
    if (plan_.leave > 0 && rng_.uniform() < plan_.leave) {
      worker.finished = true;
      return report(id, Report::Kind::leave);
    }
    if (clock_.now() >= worker.stop_at) return abort(id);
    REQUIRE(worker.replica->lock().ok());
    const double slow = id + 1 == workers_.size() ? plan_.straggler : 1;
    in(slow * rng_.exponential(plan_.step), [this, id] { end_step(id); });
  }
  void end_step(NodeId id) {
    Worker& worker = workers_.at(id);
    if (dead(worker)) return;
    for (size_t i = 0; i < worker.added.size(); ++i) {
      const double by = plan_.growth * static_cast<double>(rng_.below(8)) / 64;
      worker.added[i] += by;
      worker.shadow[i] += by;
      if (i < plan_.floats) {
        float_of(worker, i) += static_cast<float>(by);
      } else {
        double_of(worker, i - plan_.floats) += by;
      }
    }
    ++worker.steps;
    REQUIRE(worker.replica->unlock().ok());
    const auto next = [this, id] {
      in(rng_.below(2) == 0 ? 0 : rng_.exponential(plan_.step / 10), [this, id] { begin_step(id); });
    };
    if (worker.warm_left == 0) return next();
    --worker.warm_left;
    wait(id, Report::Kind::sync, next);
  }
  void abort(NodeId id) {
    wait(id, Report::Kind::abort, [this, id] {
      Worker& worker = workers_.at(id);
      const std::string bits = std::string(worker.floats.view()) + std::string(worker.doubles.view());
      after_abort[worker.aborts++].emplace_back(id, bits);
      worker.finished = worker.aborts == plan_.aborts;
      if (worker.finished) return;
      in(rng_.exponential(plan_.between / 4), [this, id] {
        Worker& again = workers_.at(id);
        if (dead(again)) return;
        again.stop_at = clock_.now() + rng_.exponential(plan_.between);
        report(id, Report::Kind::resume);
        begin_step(id);
      });
    });
  }

  // ---- processes ----

  void schedule_tick(ProcessId process) {
    in(rng_.uniform() * 1e-4, [this, process] { tick(process); });
  }
  void tick(ProcessId process) {
    if (dead_.count(process) > 0) return;
    if (agents_.at(process)->tick(clock_.now()) <= clock_.now()) schedule_tick(process);
    if (process != 0) return;
    const double next = lead_->tick(clock_.now());
    if (next < timer_ || timer_ <= clock_.now()) {
      timer_ = next;
      if (next < kForever) at(next, [this] { tick(0); });
    }
  }
  void send(ProcessId from, ProcessId to, Kind kind, const std::string& meta, Blob body) {
    if (kind == average_kind::ready) note_copies(meta);
    if (from == 0 && kind == average_kind::go) note_participants(meta);
    if (kind == average_kind::piece) bytes += body.size();
    if (from == 0 && kind == average_kind::verdict) note_verdict(meta);
    if (dead_.count(from) > 0 || dead_.count(to) > 0) return;
    Channel& channel = channels_[{from, to}];
    channel.last = std::max(channel.last, clock_.now() + rng_.exponential(1e-3));
    auto frame =
        std::make_shared<Frame>(make_frame(kind, courier_address(from), courier_address(to), 1, meta, std::move(body)));
    at(channel.last, [this, from, to, frame] { deliver(from, to, std::move(*frame)); });
  }
  void deliver(ProcessId from, ProcessId to, Frame&& frame) {
    if (dead_.count(to) > 0 || channels_[{from, to}].cut) return;
    const bool for_lead =
        frame.kind == average_kind::report || frame.kind == average_kind::ready || frame.kind == average_kind::done;
    if (for_lead) {
      (void)lead_->on_frame(from, frame.kind, frame.meta.view(), clock_.now());
    } else if (!agents_.at(to)->empty()) {  // the agent is then removed: later frames have no receiver
      (void)agents_.at(to)->on_frame(from, std::move(frame));
    }
    tick(to);
  }
  void kill(ProcessId process) {
    double known = clock_.now();
    for (auto& [ends, channel] : channels_) {
      if (ends.first != process) continue;
      channel.cut = rng_.below(2) == 0;
      if (!channel.cut) known = std::max(known, channel.last);
    }
    dead_.insert(process);
    at(known + rng_.exponential(0.05), [this] {
      send_membership();
      tick(0);
    });
  }
  void send_membership() {
    std::vector<actorhost::Member> members;
    std::vector<ProcessInfo> processes;
    for (const auto& [node, worker] : workers_) {
      if (!dead(worker)) members.push_back({node, worker.process});
    }
    for (const auto& [process, agent] : agents_) {
      if (dead_.count(process) == 0) processes.push_back({process, "p" + std::to_string(process), ""});
    }
    lead_->on_membership(std::make_shared<const Membership>(++epoch_, members, processes), clock_.now());
  }

  // ---- expected models ----

  void note_copies(const std::string& meta) {
    const auto ready = required(unpack<RoundReady>(meta));
    for (const RoundReady::Reply& reply : ready->replies) {
      if (!reply.copied) continue;
      Worker& worker = workers_.at(reply.node);
      const Blob copy = worker.replica->copy();
      worker.copied.clear();
      for (const auto& segment : worker.replica->layout().segments) {
        for (size_t i = 0; i < segment.elements; ++i) {
          const std::byte* at = copy.data() + segment.begin;
          worker.copied.push_back(segment.dtype == Dtype::f32
                                      ? static_cast<double>(reinterpret_cast<const float*>(at)[i])
                                      : reinterpret_cast<const double*>(at)[i]);
        }
      }
    }
  }
  void note_participants(const std::string& meta) {
    const auto go = required(unpack<RoundGo>(meta));
    go_ = *go;
  }
  void note_verdict(const std::string& meta) {
    const auto verdict = required(unpack<RoundVerdict>(meta));
    if (verdict->round == last_verdict_) return;  // the same verdict to another process
    last_verdict_ = verdict->round;
    broken += verdict->outcome == RoundVerdict::Outcome::broken ? 1U : 0U;
    if (verdict->outcome != RoundVerdict::Outcome::applied || go_.round != verdict->round) return;
    ++applied;
    const size_t n = go_.participants.size();
    std::vector<double> mean;
    for (size_t place = 0; place < n; ++place) {
      if (go_.pattern == AveragePattern::all) {
        if (mean.empty()) mean = mean_of_weighted();
      } else {
        std::vector<size_t> among = average_partners(go_.pattern, n, place);
        among.push_back(place);
        mean = mean_among(among);
      }
      Worker& worker = workers_.at(go_.participants[place].node);
      for (size_t i = 0; i < worker.shadow.size(); ++i) worker.shadow[i] += mean[i] - worker.copied[i];
    }
  }
  std::vector<double> mean_of_weighted() const {
    std::vector<size_t> among;
    for (size_t i = 0; i < go_.participants.size(); ++i) {
      if (go_.participants[i].weighted) among.push_back(i);
    }
    return mean_among(among);
  }
  std::vector<double> mean_among(const std::vector<size_t>& places) const {
    std::vector<double> mean(plan_.floats + plan_.doubles, 0);
    for (const size_t place : places) {
      const Worker& worker = workers_.at(go_.participants[place].node);
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += worker.copied[i] / static_cast<double>(places.size());
    }
    return mean;
  }

  const Plan plan_;
  Rng rng_;
  ManualClock clock_;
  std::priority_queue<Event> queue_;
  uint64_t events_ = 0;
  std::unique_ptr<AverageLead> lead_;
  std::map<ProcessId, std::unique_ptr<AverageAgent>> agents_;
  std::map<NodeId, Worker> workers_;
  std::map<std::pair<ProcessId, ProcessId>, Channel> channels_;
  std::set<ProcessId> dead_;
  uint64_t epoch_ = 0;
  double timer_ = 0;
  RoundGo go_;
  uint32_t last_verdict_ = 0;
};

}  // namespace actorhost::test
