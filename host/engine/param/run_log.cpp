#include "host/engine/param/run_log.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace actorhost {

namespace {

constexpr double kWaitCheckInterval = 1;  // seconds

/// The start of the longest current wait at the barrier; nothing if no worker waits.
std::optional<double> waiting_since(const Progress& progress) {
  std::optional<double> since;
  for (Slot slot = 0; slot < progress.size(); ++slot) {
    if (progress.tickets()[slot] != 0) since = std::min(since.value_or(kForever), progress.requested()[slot]);
  }
  return since;
}

std::string waiting_text(const Progress& progress) {
  std::vector<NodeId> waiting;
  for (Slot slot = 0; slot < progress.size(); ++slot) {
    if (progress.tickets()[slot] != 0) waiting.push_back(progress.ids()[slot]);
  }
  std::sort(waiting.begin(), waiting.end());
  return (waiting.size() == 1 ? "worker " : "workers ") + worker_list(waiting) +
         (waiting.size() == 1 ? " has" : " have") + " waited at the barrier";
}

}  // namespace

std::string worker_list(const std::vector<NodeId>& ids) {
  constexpr size_t kShown = 8;
  std::string out;
  for (size_t i = 0; i < std::min(ids.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + std::to_string(ids[i]);
  return ids.size() > kShown ? out + ", ... (" + std::to_string(ids.size()) + " in all)" : out;
}

void RunLog::traffic(const ParamTraffic& traffic) {
  const auto traffic_text = [](const char* direction, const FilterBytes& bytes) {
    char text[120];
    std::snprintf(text, sizeof text, "%s %.3f MB as %.3f MB (%.1fx)", direction,
                  1e-6 * static_cast<double>(bytes.before), 1e-6 * static_cast<double>(bytes.after), ratio_of(bytes));
    return std::string(text);
  };
  log_.info("server 0",
            "filters: " + traffic_text("pushed", traffic.pushed) + ", " + traffic_text("pulled", traffic.pulled));
}

void RunLog::non_finite(const ShardReport& report) {
  uint64_t& reported = reported_[report.worker];
  if (reported > report.step) return;  // another shard has reported this push
  reported = report.step + 1;
  const uint64_t n = ++non_finite_;
  if ((n & (n - 1)) != 0) return;  // the 1st, 2nd, 4th, 8th ... are logged
  log_.warn("server 0", "step " + std::to_string(report.step + 1) + " of worker " + std::to_string(report.worker) +
                            ": " + report.message + " (" + std::to_string(n) + " such pushes so far)");
}

void RunLog::check_waits(const Progress& progress, const RunWorkers& workers, std::optional<double> stopped,
                         double now) {
  if (now < next_check_) return;
  next_check_ = std::isfinite(long_wait_) ? now + kWaitCheckInterval : kForever;
  std::optional<double> since = stopped ? stopped : waiting_since(progress);
  if (stopped && workers.busy() == 0) since.reset();
  if (!since || !std::isfinite(long_wait_) || *since == logged_since_) return;
  if (now < *since + long_wait_) {
    next_check_ = std::min(next_check_, *since + long_wait_);
    return;
  }
  logged_since_ = *since;
  const std::string text = stopped ? "the end of the run has waited" : waiting_text(progress);
  log_.info("server 0", text + " for over " + std::to_string(std::lround(long_wait_)) + " s" +
                            awaited_text(progress, workers, now));
}

void RunLog::check_held(const PushMerger& merger, double now) {
  const double since = merger.held_since();
  if (merger.held().empty() || !(now >= since + long_wait_) || since == logged_held_since_) return;
  logged_held_since_ = since;
  std::vector<NodeId> workers;
  for (const auto& [worker, step] : merger.held()) {
    if (workers.empty() || workers.back() != worker) workers.push_back(worker);
  }
  log_.warn("server 0", merger.rule_label() + " has merged nothing for over " +
                            std::to_string(std::lround(long_wait_)) + " s: it holds " +
                            std::to_string(merger.held().size()) + " pushes of worker" +
                            (workers.size() == 1 ? " " : "s ") + worker_list(workers) +
                            "; held pushes are merged when a later call returns a weight, or at the end of the run");
}

std::string RunLog::awaited_text(const Progress& progress, const RunWorkers& workers, double now) const {
  constexpr size_t kShown = 8;
  std::string out;
  size_t count = 0;
  for (const auto& [id, worker] : workers) {
    if (worker.parked || (worker.ready && !worker.busy) || ++count > kShown) continue;
    const Slot slot = progress.slot(id);
    const double began = slot == kNoSlot ? now : progress.started()[slot];
    char text[64] = " has not reached param.run";
    if (worker.busy) {
      std::snprintf(text, sizeof text, " in step %llu for %.0f s", static_cast<unsigned long long>(worker.step) + 1,
                    now - began);
    }
    out += (out.empty() ? ": worker " : "; worker ") + std::to_string(id) + text;
    if (worker.busy && !push_place_.empty()) out += ", in " + push_place_;
  }
  if (count > kShown) out += "; and " + std::to_string(count - kShown) + " more";
  return out.empty() ? ": the rule holds them back, no worker is working" : out;
}

}  // namespace actorhost
