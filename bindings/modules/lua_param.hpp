#pragma once
// The C module "actor.c.param" behind stdlib/actor/param.lua: a client for every node, the loop's worker side on
// workers, a shard (and on shard 0 the coordinator) on servers. The state machines are host/engine's; here they meet a
// node's port and Lua. See stdlib/actor/param.lua for how the calls follow each other.

#include "host/base/result.hpp"

namespace actorhost {

class Vm;

/// Makes the module available in a node's Vm.
void register_param_module(Vm& vm);

/// For a server whose script has come to its end without a run to serve: answers get, set and keys until the run is
/// over.
Status serve_values(Vm& vm);

}  // namespace actorhost
