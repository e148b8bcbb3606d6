#include "host/cluster/look/barrier_board.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "host/cluster/look/process_state.hpp"

namespace actorhost {

namespace {

constexpr size_t kMostNamed = 8;  // listed workers that one worker waits for

}  // namespace

void BarrierBoard::Worker::set_waiting(uint64_t step, double now) noexcept {
  step_.set(step);
  since_.set(now);
  place_.set(Place::waiting);
}

void BarrierBoard::Worker::enter(Place place, double now) noexcept {
  if (place_.get() == Place::waiting) waited_.add(now - since_.get());
  since_.set(now);
  place_.set(place);
}

void BarrierBoard::begin(uint32_t run, const std::string& rule, const std::string& merge) {
  std::lock_guard lock(mutex_);
  start(run, rule);
  merge_ = merge;
  of_peers_ = false;
}

void BarrierBoard::begin_of_peers(uint32_t run, const std::string& rule) {
  std::lock_guard lock(mutex_);
  if (run_ != run) start(run, rule);
  of_peers_ = true;
}

void BarrierBoard::end_of_peers(uint32_t run) {
  std::lock_guard lock(mutex_);
  if (run_ == run) run_ = 0;
}

void BarrierBoard::start(uint32_t run, const std::string& rule) {
  run_ = run;
  rule_ = rule;
  merge_.clear();
  for (const auto& [id, worker] : workers_) waited_before_[id] += worker->waited_.get();
  workers_.clear();
  for (Tally<uint64_t>* count : {&passed, &refused, &merged, &dropped, &held}) count->set(0);
}

void BarrierBoard::rename(const std::string& rule) {
  std::lock_guard lock(mutex_);
  rule_ = rule;
}

void BarrierBoard::rename_merge(const std::string& merge) {
  std::lock_guard lock(mutex_);
  merge_ = merge;
}

std::pair<std::string, std::string> BarrierBoard::rules() const {
  std::lock_guard lock(mutex_);
  return {rule_, merge_};
}

BarrierBoard::Worker& BarrierBoard::worker(NodeId id) {
  std::lock_guard lock(mutex_);
  return find(id);
}

BarrierBoard::Worker& BarrierBoard::find(NodeId id) {
  auto& worker = workers_[id];
  if (!worker) worker = std::make_unique<Worker>();
  return *worker;
}

// The workers that the rule counts as too slow. If there are none (for example because the rule samples), all workers
// at work.
std::vector<NodeId> BarrierBoard::slow_workers(const Worker& waiting) const {
  const auto ahead = static_cast<uint64_t>(std::max(bound.get(), 0));
  std::vector<NodeId> behind;
  std::vector<NodeId> busy;
  for (const auto& [id, worker] : workers_) {
    const Place place = worker->place_.get();
    if (place != Place::working && place != Place::absent) continue;
    if (busy.size() < kMostNamed) busy.push_back(id);
    const bool is_behind = place == Place::absent || worker->step_.get() + ahead < waiting.step_.get();
    if (is_behind && behind.size() < kMostNamed) behind.push_back(id);
  }
  return behind.empty() ? busy : behind;
}

void BarrierBoard::report(nlohmann::json& out, double now) const {
  using nlohmann::json;
  std::lock_guard lock(mutex_);
  if (run_ == 0) return;
  json waiting = json::array();
  json waited = json::object();
  uint64_t all_passed = passed.get();
  uint64_t all_refused = refused.get();
  for (const auto& [id, seconds] : waited_before_) waited[std::to_string(id)] = seconds;
  for (const auto& [id, worker] : workers_) {
    const bool waits = worker->place_.get() == Place::waiting;
    const double since = waits ? std::max(0.0, now - worker->since_.get()) : 0;
    json& in_all = waited[std::to_string(id)];
    in_all = (in_all.is_null() ? 0.0 : in_all.get<double>()) + worker->waited_.get() + since;
    all_passed += worker->passed.get();
    all_refused += worker->refused.get();
    if (!waits) continue;
    waiting.push_back({{"id", id},
                       {"step", worker->step_.get()},
                       {"since", since},
                       {"for", of_peers_ ? worker->awaited_ : slow_workers(*worker)}});
  }
  out["barrier"].push_back({{"run", run_},
                            {"rule", rule_},
                            {"waiting", std::move(waiting)},
                            {"passed", all_passed},
                            {"refused", all_refused},
                            {"waited", std::move(waited)}});
  if (merge_.empty()) return;
  out["barrier"].back()["merge"] = {
      {"rule", merge_}, {"merged", merged.get()}, {"dropped", dropped.get()}, {"held", held.get()}};
}

void BarrierBoard::report_steps(nlohmann::json& out) const {
  add_histogram(out["histograms"]["step_seconds"], step_seconds);
}

}  // namespace actorhost
