#pragma once
// The C module "actor.c.node": a node's identity and its calls to the cluster, for stdlib/actor/init.lua.

namespace actorhost {

class Vm;

/// Makes the module available in a node's Vm (one whose context is a NodeContext).
void register_node_module(Vm& vm);

}  // namespace actorhost
