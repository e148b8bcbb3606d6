#pragma once
// The parts of a run that a signal has to reach from another thread. The main thread sets them, under the mutex, and
// reads them without; the watcher of signals and the cluster's thread read them under the mutex.

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
  std::condition_variable changed;              // the membership, the end or an interrupt
  std::optional<PrivateFolder> private_folder;  // of an --isolate run without other hosts; destroyed after its users
  std::unique_ptr<Cluster> cluster;             // none in the parent of an --isolate host that only joins
  std::unique_ptr<ChildSupervisor> children;    // of an --isolate host
};

}  // namespace actorhost
