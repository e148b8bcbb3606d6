#pragma once
// The log of a run on shard 0: long waits, pushes with infinite values or NaN, the effect of filters. Passive; belongs
// to the run's ParamController.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/barrier/progress.hpp"
#include "host/base/clock.hpp"
#include "host/base/log.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/param/push_merger.hpp"
#include "host/engine/param/run_workers.hpp"

namespace actorhost {

/// "0, 2, 5". A long list shows the first ids and the total.
std::string worker_list(const std::vector<NodeId>& ids);

class RunLog {
 public:
  /// A wait is long after `long_wait` seconds. `push_place`: the source line of `push`.
  RunLog(Log& log, double long_wait, std::string push_place)
      : log_(log), long_wait_(long_wait), push_place_(std::move(push_place)) {}

  void error(const Error& error) { log_.error("server 0", error.message); }
  void traffic(const ParamTraffic& traffic);
  void non_finite(const ShardReport& report);
  /// Number of pushes with infinite values or NaN.
  uint64_t non_finite_pushes() const noexcept { return non_finite_; }
  /// Logs each wait of over 10 s once: the waiting workers, and the workers that they wait for. `stopped`: when the end
  /// of the run was decided, while the end waits for the pushes in progress.
  void check_waits(const Progress& progress, const RunWorkers& workers, std::optional<double> stopped, double now);
  /// Logs once that the merge rule has held pushes for over 10 s without merging any.
  void check_held(const PushMerger& merger, double now);
  /// When to check for long waits again.
  double next_check() const noexcept { return next_check_; }

 private:
  std::string awaited_text(const Progress& progress, const RunWorkers& workers, double now) const;

  Log& log_;
  const double long_wait_;
  const std::string push_place_;
  double next_check_ = 0;
  double logged_since_ = -1;  // the start of the last logged wait
  double logged_held_since_ = -1;
  uint64_t non_finite_ = 0;
  std::unordered_map<NodeId, uint64_t> reported_;  // the step after the last reported step
};

}  // namespace actorhost
