#pragma once
// The C module "actor.c.average" behind stdlib/actor/average.lua.

namespace actorhost {

class Vm;

/// Makes the module available in a node's Vm.
void register_average_module(Vm& vm);

}  // namespace actorhost
