// The trace, the board and the log of shard 0's controller, including reports of long waits.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "host/engine/param/controller.hpp"

namespace actorhost {

namespace {

constexpr double kWaitCheckInterval = 1;  // seconds

}  // namespace

std::string worker_list(const std::vector<NodeId>& ids) {
  constexpr size_t kShown = 8;
  std::string out;
  for (size_t i = 0; i < std::min(ids.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + std::to_string(ids[i]);
  return ids.size() > kShown ? out + ", ... (" + std::to_string(ids.size()) + " in all)" : out;
}

// --- the trace

void ParamController::record_begin(double now) {
  trace_->begin_run({{"barrier", config_.barrier}, {"workers", std::to_string(progress_.size())}}, now);
  for (Slot slot = 0; slot < progress_.size(); ++slot) {
    trace_->join(progress_.ids()[slot], static_cast<uint64_t>(progress_.steps()[slot]), now);
  }
}

void ParamController::record_passed(double now) {
  for (const NodeId id : passed_) {
    if (const auto found = workers_.find(id); found != workers_.end()) found->second.released = now;
  }
}

void ParamController::record_step(NodeId id, const Worker& worker, double seconds, double now) {
  if (trace_->step(id, worker.step + 1, worker.released, seconds, now)) return;
  const uint64_t n = ++impossible_times_;
  if ((n & (n - 1)) != 0) return;  // the 1st, 2nd, 4th, 8th ... are logged
  log_.warn("record", "worker " + std::to_string(id) + " reports " + std::to_string(seconds) + " s of work in the " +
                          std::to_string(now - worker.released) + " s of its step " + std::to_string(worker.step + 1) +
                          "; the trace has the nearest possible time (" + std::to_string(n) + " such times so far)");
}

// The trace ends with the decision to stop: no worker begins a step after it.
void ParamController::record_stop() {
  if (started_ >= 0) {
    for (const auto& [id, worker] : workers_) {
      if (worker.busy) trace_->open_step(id, worker.step, worker.released, latest_);
    }
    trace_->stop(latest_);
  }
  trace_ = nullptr;
}

void ParamController::show_gate() {
  config_.board->passed.set(gate_.passed());
  config_.board->refused.set(gate_.refused());
  config_.board->bound.set(gate_.rule().staleness());
}

void ParamController::log_traffic() {
  const auto traffic_text = [](const char* direction, const FilterBytes& bytes) {
    char text[120];
    std::snprintf(text, sizeof text, "%s %.3f MB as %.3f MB (%.1fx)", direction,
                  1e-6 * static_cast<double>(bytes.before), 1e-6 * static_cast<double>(bytes.after), ratio_of(bytes));
    return std::string(text);
  };
  log_.info("server 0", "filters: " + traffic_text("pushed", summary_.traffic->pushed) + ", " +
                            traffic_text("pulled", summary_.traffic->pulled));
}

// --- the log

void ParamController::on_report(const ShardReport& report) {
  uint64_t& reported = reported_[report.worker];
  if (phase_ == Phase::finished || reported > report.step) return;  // another shard has reported this push
  reported = report.step + 1;
  const uint64_t n = ++summary_.non_finite;
  if ((n & (n - 1)) != 0) return;  // the 1st, 2nd, 4th, 8th ... are logged
  log_.warn("server 0", "step " + std::to_string(report.step + 1) + " of worker " + std::to_string(report.worker) +
                            ": " + report.message + " (" + std::to_string(n) + " such pushes so far)");
}

// --- long waits

/// The start of the longest current wait; nothing if no worker waits.
std::optional<double> ParamController::waiting_since() const {
  if (phase_ == Phase::stopping) return busy_ != 0 ? std::optional(stopped_) : std::nullopt;
  std::optional<double> since;
  for (Slot slot = 0; slot < progress_.size(); ++slot) {
    if (progress_.tickets()[slot] != 0) since = std::min(since.value_or(kForever), progress_.requested()[slot]);
  }
  return since;
}

/// Logs each wait of over 10 s once: the waiting workers, and the workers that they wait for.
void ParamController::log_long_wait(double now) {
  if (now < next_wait_check_ || started_ < 0) return;
  next_wait_check_ = std::isfinite(config_.long_wait) ? now + kWaitCheckInterval : kForever;
  const std::optional<double> since = waiting_since();
  if (!since || !std::isfinite(config_.long_wait) || *since == logged_since_) return;
  if (now < *since + config_.long_wait) {
    next_wait_check_ = std::min(next_wait_check_, *since + config_.long_wait);
    return;
  }
  logged_since_ = *since;
  log_.info("server 0",
            waiting_text() + " for over " + std::to_string(std::lround(config_.long_wait)) + " s" + awaited_text(now));
}

std::string ParamController::waiting_text() const {
  if (phase_ == Phase::stopping) return "the end of the run has waited";
  std::vector<NodeId> waiting;
  for (Slot slot = 0; slot < progress_.size(); ++slot) {
    if (progress_.tickets()[slot] != 0) waiting.push_back(progress_.ids()[slot]);
  }
  std::sort(waiting.begin(), waiting.end());
  return (waiting.size() == 1 ? "worker " : "workers ") + worker_list(waiting) +
         (waiting.size() == 1 ? " has" : " have") + " waited at the barrier";
}

std::string ParamController::awaited_text(double now) const {
  constexpr size_t kShown = 8;
  std::string out;
  size_t count = 0;
  for (const auto& [id, worker] : workers_) {
    if (worker.parked || (worker.ready && !worker.busy) || ++count > kShown) continue;
    const Slot slot = progress_.slot(id);
    const double began = slot == kNoSlot ? now : progress_.started()[slot];
    char text[64] = " has not reached param.run";
    if (worker.busy) {
      std::snprintf(text, sizeof text, " in step %llu for %.0f s", static_cast<unsigned long long>(worker.step) + 1,
                    now - began);
    }
    out += (out.empty() ? ": worker " : "; worker ") + std::to_string(id) + text;
    if (worker.busy && !config_.push_place.empty()) out += ", in " + config_.push_place;
  }
  if (count > kShown) out += "; and " + std::to_string(count - kShown) + " more";
  return out.empty() ? ": the rule holds them back, no worker is working" : out;
}

}  // namespace actorhost
