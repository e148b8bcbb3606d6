#pragma once
// How a host takes part in its run: it listens as the coordinator, joins a coordinator, or starts child processes that
// join. It decides from the place and the flags; its opener does it. Used on the main thread.

#include <chrono>
#include <optional>
#include <string>

#include "bindings/process/run_options.hpp"
#include "bindings/run/host_place.hpp"
#include "host/base/non_copyable.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

class RunJoin {
 public:
  class Opener : public Interface {
   public:
    /// Makes this process a part of the run, up to the run's start.
    virtual Status open_cluster(ClusterConfig config) = 0;
    /// Whether this process has a cluster; also true if open_cluster has failed after it had joined.
    virtual bool has_cluster() const = 0;
    /// Starts the processes `first` .. size - 1 of `group`, which join at `url`.
    virtual Status spawn_children(const std::string& url, uint64_t group, uint32_t first, uint32_t size) = 0;
    /// Waits; true once the run was interrupted.
    virtual bool interrupted_within(double seconds) = 0;
  };

  RunJoin(const RunOptions& options, HostPlace& place, const Clock& clock, Log& log, Opener& opener)
      : options_(options), place_(place), clock_(clock), log_(log), opener_(opener) {}

  /// Takes part with the identity and the nodes of `base`. On return the run has started here, or in the children.
  Status join(ClusterConfig base);

 private:
  Result<std::optional<bool>> await_own_address(ClusterConfig& base);
  Status join_others(const ClusterConfig& base);
  Status listen(const ClusterConfig& base, bool must_listen);
  Status join_coordinator(const ClusterConfig& base, const Status& listened);
  ClusterConfig joining(const ClusterConfig& base) const;

  const RunOptions& options_;
  HostPlace& place_;
  const Clock& clock_;
  Log& log_;
  Opener& opener_;
};

}  // namespace actorhost
