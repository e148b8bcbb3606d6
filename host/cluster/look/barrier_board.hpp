#pragma once
// The state of the barrier, for observers: each waiting worker, its waiting time, and the workers that it waits for. In
// a run with servers shard 0's controller writes; in a run of peers each worker of the process writes its own row. Any
// thread reads. The board outlives the runs of a job and shows one run at a time.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/histogram.hpp"
#include "host/base/tally.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class BarrierBoard {
 public:
  enum class Place : uint8_t { absent, waiting, working, away };  // away: without work, failed, or after the run

  /// One worker's row. Times are seconds on the process's clock.
  class Worker {
   public:
    /// The worker waits to begin its next step and has completed `step` steps.
    void set_waiting(uint64_t step, double now) noexcept;
    /// The worker works from now on.
    void set_working(double now) noexcept { enter(Place::working, now); }
    void set_away(double now) noexcept { enter(Place::away, now); }
    /// Of a peer: the workers that it knows to wait for.
    void set_awaited(std::vector<NodeId> ids) { awaited_ = std::move(ids); }
    /// Of a peer: decisions of its rule.
    Tally<uint64_t> passed, refused;

   private:
    friend class BarrierBoard;
    void enter(Place place, double now) noexcept;
    Tally<Place> place_;
    Tally<uint64_t> step_;
    Tally<double> since_;
    Tally<double> waited_;         // seconds in total
    std::vector<NodeId> awaited_;  // of a peer; guarded by the board's mutex
  };

  // ---- in a run of peers: each worker's thread ----

  /// Begins the run unless another worker has begun it. `rule` is the displayed name.
  void begin_of_peers(uint32_t run, const std::string& rule);
  /// Ends the run.
  void end_of_peers(uint32_t run);
  /// Calls change(row of worker `id`), unless the next run has begun.
  template <typename Change>
  void update(uint32_t run, NodeId id, const Change& change) {
    std::lock_guard lock(mutex_);
    if (run_ == run) change(find(id));
  }

  // ---- the controller's thread ----

  /// Begins a run without workers. `rule` and `merge` are the displayed names of the barrier rule and the merge rule.
  void begin(uint32_t run, const std::string& rule, const std::string& merge);
  /// The rule was replaced.
  void rename(const std::string& rule);
  void rename_merge(const std::string& merge);
  /// Valid until the next run begins.
  Worker& worker(NodeId id);
  /// The largest lead that the rule allows a worker; negative where the rule has no bound.
  Tally<int> bound;
  Tally<uint64_t> passed, refused;        // decisions of the rule
  Tally<uint64_t> merged, dropped, held;  // pushes, by the merge rule; those held now
  Histogram step_seconds{kMicrosecond};

  // ---- any thread ----

  /// The displayed names of the present barrier rule and merge rule.
  std::pair<std::string, std::string> rules() const;
  /// Adds {"barrier": [...]}, and the steps' histogram to a report that has histograms.
  void report(nlohmann::json& out, double now) const;
  void report_steps(nlohmann::json& out) const;

 private:
  void start(uint32_t run, const std::string& rule);
  Worker& find(NodeId id);
  std::vector<NodeId> slow_workers(const Worker& waiting) const;

  mutable std::mutex mutex_;  // guards the members below, except the workers' counters
  uint32_t run_ = 0;
  bool of_peers_ = false;  // each worker names the workers that it waits for
  std::string rule_;
  std::string merge_;  // empty in a run of peers
  std::map<NodeId, std::unique_ptr<Worker>> workers_;
  std::map<NodeId, double> waited_before_;  // seconds in earlier runs
};

}  // namespace actorhost
