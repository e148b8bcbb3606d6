#pragma once
// The nodes of a process: its workers, and on the coordinator the parameter server's shards. The host runtime owns it
// and starts the workers; the cluster's thread starts the servers. Thread-safe.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/run/node_thread.hpp"
#include "host/base/tasks.hpp"

namespace actorhost {

class LocalNodes {
 public:
  /// Makes and starts a thread for each worker of this process. The class sets `shared.ended`.
  void start_workers(NodeThread::Shared shared);
  /// Starts shards for `action`. A server's VM serves one run and stays in it, so that values can be read afterwards.
  /// The next run gets new VMs, while the shards' values remain in ProcessShared::stores. False while the shards of an
  /// earlier action have yet to end.
  Result<bool> start_servers(NodeThread::Shared shared, uint32_t action);
  void wake();
  void wake_servers();
  /// Stops all nodes; true when all have left their Lua within the time.
  bool stop(double seconds);
  /// Waits for the threads of all nodes and destroys the nodes.
  void drop();

  std::vector<Address> workers() const;
  /// The traceback of a local node, empty without one; no value if no node has this address.
  std::optional<std::string> traceback_of(Address address) const;

 private:
  using Nodes = std::vector<std::unique_ptr<NodeThread>>;

  std::function<void()> notify();

  mutable std::mutex mutex_;  // guards the lists and servers_leave_
  WaitPoint ended_;
  Nodes workers_;
  Nodes servers_;
  bool servers_leave_ = false;  // their stop was requested; new servers follow
};

}  // namespace actorhost
