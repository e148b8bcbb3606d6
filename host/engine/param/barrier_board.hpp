#pragma once
// Who waits at the barrier, for those who look into the run: shard 0's coordinator notes what happens, or in a run of
// peers each of the process's workers does for itself; any thread reads. Outlives the runs of a job, of which one at a
// time is noted.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/histogram.hpp"
#include "host/base/tally.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

class BarrierBoard {
 public:
  enum class Place : uint8_t { absent, waiting, working, away };  // away: without work, lost, or the run is over

  /// One worker; times in seconds on the process's clock.
  class Worker {
   public:
    /// It waits to be let into its next step, with `step` completed ones.
    void waits(uint64_t step, double now) noexcept;
    /// It works from now on.
    void works(double now) noexcept { go(Place::working, now); }
    void leaves(double now) noexcept { go(Place::away, now); }
    /// Of a peer: the workers for which it waits, as far as it knows.
    void awaits(std::vector<NodeId> ids) { awaited_ = std::move(ids); }
    /// Of a peer: answers of its rule.
    Tally<uint64_t> passed, refused;

   private:
    friend class BarrierBoard;
    void go(Place place, double now) noexcept;
    Tally<Place> place_;
    Tally<uint64_t> step_;
    Tally<double> since_;
    Tally<double> waited_;         // in all
    std::vector<NodeId> awaited_;  // of a peer; under the board's lock
  };

  // ---- in a run of peers: each worker's thread ----

  /// The run begins, unless another worker has begun it; `rule` as it is shown.
  void begin_of_peers(uint32_t run, const std::string& rule);
  /// It is over.
  void end_of_peers(uint32_t run);
  /// Calls back with a worker of the run, unless the next one has begun.
  template <typename Change>
  void note(uint32_t run, NodeId id, const Change& change) {
    std::lock_guard lock(mutex_);
    if (run_ == run) change(find(id));
  }

  // ---- the coordinator's thread ----

  /// A run begins, without workers; `rule` as it is shown.
  void begin(uint32_t run, const std::string& rule);
  /// The rule has been replaced.
  void rename(const std::string& rule);
  /// Valid until the next run begins.
  Worker& worker(NodeId id);
  /// How far ahead the rule lets a worker be; below 0 where it does not say.
  Tally<int> bound;
  Tally<uint64_t> passed, refused;  // answers of the rule
  Histogram step_seconds{kMicrosecond};

  // ---- any thread ----

  /// Adds {"barrier": [...]}, and the steps' histogram to a report that has histograms.
  void report(nlohmann::json& out, double now) const;
  void report_steps(nlohmann::json& out) const;

 private:
  void start(uint32_t run, const std::string& rule);
  Worker& find(NodeId id);
  std::vector<NodeId> slow(const Worker& waiting) const;

  mutable std::mutex mutex_;  // of what follows, but not of what the workers count
  uint32_t run_ = 0;
  bool of_peers_ = false;  // each says for whom it waits
  std::string rule_;
  std::map<NodeId, std::unique_ptr<Worker>> workers_;
  std::map<NodeId, double> waited_before_;  // seconds, in the runs before
};

}  // namespace actorhost
