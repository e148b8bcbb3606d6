#pragma once
// The object behind Vm::context for the C functions of a node's VM: the node, the flags and the objects shared by the
// process. The host runtime makes it for each VM; it outlives the VM and is used on the VM's thread.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bindings/process/run_options.hpp"
#include "bindings/vm/vm.hpp"
#include "host/cluster/node.hpp"
#include "host/engine/share/event_box.hpp"

namespace actorhost {

/// Objects shared by the VMs of one process; see process_shared.hpp.
struct ProcessShared;
class CallWatchdog;

struct NodeContext {
  Node& node;
  EventBox& events;
  const RunOptions& options;
  ProcessShared& shared;
  uint64_t seed = 0;                 // the run's seed, the same on every node
  uint32_t honoured = 0;             // flags read by an engine of the script; bits in the order of flags_of_engines
  CallWatchdog* watchdog = nullptr;  // of a server's VM; of a worker's VM after watch_worker
  std::function<void()> watch_worker = {};      // makes the watchdog: the worker evaluates its own rule from now on
  bool shows_output = false;                    // of a server's VM: in its run, so its callbacks' output is shown
  bool no_rank = false;                         // a server's script has read its rank or id, which a server lacks
  bool finished = false;                        // the script has left by `leave` without an error
  std::function<void(const Error&)> fail = {};  // ends the run on all nodes, like an uncaught error

  /// Names of flags that only some engines honour, each with whether it was given.
  std::vector<std::pair<const char*, bool>> flags_of_engines() const;

  static NodeContext& of(lua_State* L) { return *static_cast<NodeContext*>(Vm::from(L).context()); }
};

}  // namespace actorhost
