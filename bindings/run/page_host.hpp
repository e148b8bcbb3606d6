#pragma once
// A process's sections of the state for observers (add_sections); and PageHost, which serves the observers of a run on
// its coordinator: the page, /metrics and the recorders of states and series, over the cluster's state. HostRuntime
// makes a PageHost if a flag requests one of them, and destroys it before the cluster.

#include <memory>
#include <string>

#include "bindings/process/process_shared.hpp"
#include "bindings/process/run_options.hpp"
#include "host/cluster/cluster.hpp"
#include "host/page/page_server.hpp"
#include "host/page/tensorboard.hpp"

namespace actorhost {

/// Adds a process's sections to the state for observers, beside the counters of its cluster and nodes: its log, series,
/// barrier, and on the coordinator the keys. Called before the nodes start. The sections are read on the cluster's
/// thread, which ends before the arguments do.
void add_sections(Cluster& cluster, const Log& log, ProcessShared& process, const Clock& clock);

class PageHost {
 public:
  /// Whether a flag requests it.
  static bool wanted(const RunOptions& options);
  /// Listens, opens the file or folder of --record, and logs the page's address. Errors name the flag.
  static Result<std::unique_ptr<PageHost>> open(const RunOptions& options, const std::string& job, Cluster& cluster,
                                                const Clock& clock, Log& log);
  ~PageHost();

  /// Records the last state of the ended run and notifies the viewers. Call it while the cluster can still report its
  /// state. Blocks for some tenths of a second at most.
  void finish(const EndMessage& end);

 private:
  explicit PageHost(Cluster& cluster);

  std::unique_ptr<StateSource> source_;
  std::unique_ptr<PageServer> server_;
  std::unique_ptr<StateRecorder> recorder_;
  std::unique_ptr<EventRecorder> events_;
  std::unique_ptr<StatePoller> poller_;  // destroyed first, because it calls the others
};

}  // namespace actorhost
