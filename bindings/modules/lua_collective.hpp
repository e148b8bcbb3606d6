#pragma once
// The C module "actor.c.collective" behind stdlib/actor/collective/init.lua.

namespace actorhost {

class Vm;

/// Makes the module available in a node's Vm.
void register_collective_module(Vm& vm);

}  // namespace actorhost
