#pragma once
// The object behind Vm::context, for the C functions of a node's VM: the node, the flags, what the process shares. Made
// by the host runtime for each VM and used on its thread; the VM does not outlive it.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bindings/process/run_options.hpp"
#include "bindings/vm/vm.hpp"
#include "host/cluster/node.hpp"
#include "host/engine/share/event_box.hpp"

namespace actorhost {

/// What the VMs of one process share; see process_shared.hpp.
struct ProcessShared;
class CallWatchdog;

struct NodeContext {
  Node& node;
  EventBox& events;
  const RunOptions& options;
  ProcessShared& shared;
  uint64_t seed = 0;      // of the run; the same on every node
  uint32_t honoured = 0;  // flags that some engine of the script has looked at; bits in the order of flags_of_engines
  CallWatchdog* watchdog = nullptr;         // of a server's VM; of a worker's once it has been asked for
  std::function<void()> watch_worker = {};  // makes it: a worker asks a rule of its own from now on
  bool speaks = false;                      // of a server's VM: it is in its run, so what its callbacks print is shown
  bool no_rank = false;                     // a server's script has read its rank or id, which it has not
  bool finished = false;                    // the script has left by `leave`, with nothing wrong
  std::function<void(const Error&)> fail = {};  // ends the run on all nodes, as an error that nothing catches does

  /// Names of flags that only some engines honour, and whether each was given.
  std::vector<std::pair<const char*, bool>> flags_of_engines() const;

  static NodeContext& of(lua_State* L) { return *static_cast<NodeContext*>(Vm::from(L).context()); }
};

}  // namespace actorhost
