#pragma once
// The objects of a run that the main thread shares with the signal watcher, the cluster's thread and callers of
// `interrupt`. HostRuntime owns them. The main thread locks the mutex to set these members, and reads them without the
// mutex. The other threads lock the mutex to read them.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings/run/isolate.hpp"
#include "bindings/run/private_folder.hpp"
#include "host/cluster/cluster.hpp"

namespace actorhost {

struct RunParts {
  std::mutex mutex;
  std::condition_variable changed;              // signals a new membership, the end of the run, or an interrupt
  std::optional<PrivateFolder> private_folder;  // set in an --isolate run without other hosts; outlives its users below
  std::unique_ptr<Cluster> cluster;             // null in the parent of an --isolate host that only joins
  std::unique_ptr<ChildSupervisor> children;    // set on an --isolate host
};

}  // namespace actorhost
