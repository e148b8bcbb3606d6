#pragma once
// Lets observers find a run of this machine: on the coordinator by a socket, on other hosts by the coordinator's
// address. A run that ends at once is not announced. Used on the main thread.

#include <optional>

#include "bindings/process/run_options.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

class RunAnnouncement {
 public:
  /// With `silent` it only counts as made: the parent announces the run of a child of --isolate, and no process the run
  /// of a rehearsal.
  RunAnnouncement(Cluster& cluster, const RunOptions& options, Log& log, double now, bool silent);

  /// Whether `make` is to be called: the run has lasted a moment, or another host has become the coordinator.
  bool due(double now) const;
  /// How long to wait until `due` may change, at most `most` seconds.
  double pause(double now, double most) const;
  /// Announces the run of job `job`. A failure ends only a run that must be found.
  void make(const std::string& job);
  /// Removes the announcement. Call it after the end of the run.
  void remove();

 private:
  Status open(const std::string& job);

  Cluster& cluster_;
  const RunOptions& options_;
  Log& log_;
  const double first_;  // when the first announcement is due
  const bool silent_;
  std::optional<ProcessId> shown_;  // the announced coordinator
};

}  // namespace actorhost
