#pragma once
// What serves those who watch a run from its rendezvous host: the page, /metrics and the recorder of states, over the
// cluster's state. Made by HostRuntime when a flag asks for one of them; it ends before the cluster.

#include <memory>
#include <string>

#include "bindings/process/run_options.hpp"
#include "host/cluster/cluster.hpp"
#include "host/page/page_server.hpp"

namespace actorhost {

class PageHost {
 public:
  /// Whether a flag asks for it.
  static bool wanted(const RunOptions& options);
  /// Listens, opens the file, and logs where the page is. Errors name the flag.
  static Result<std::unique_ptr<PageHost>> open(const RunOptions& options, Cluster& cluster, const Clock& clock,
                                                Log& log);
  ~PageHost();

  /// The run is over: records the last state, and tells the viewers. To be called while the cluster can still be looked
  /// into. Waits for some tenths of a second at most.
  void finish(const EndMessage& end);

 private:
  explicit PageHost(Cluster& cluster);

  std::unique_ptr<StateSource> source_;
  std::unique_ptr<PageServer> server_;
  std::unique_ptr<StateRecorder> recorder_;
  std::unique_ptr<Looks> looks_;  // the first to go: it calls the others
};

}  // namespace actorhost
