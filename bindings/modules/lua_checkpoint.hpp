#pragma once
// The C module "actor.c.checkpoint" behind stdlib/actor/checkpoint.lua.

namespace actorhost {

class Vm;

/// Makes the module available in a node's Vm.
void register_checkpoint_module(Vm& vm);

}  // namespace actorhost
