#pragma once
// The C module "actor.c.lock" behind stdlib/actor/collective/lock.lua: locks, and partitions that are shared under
// them.

namespace actorhost {

class Vm;

void register_lock_module(Vm& vm);

}  // namespace actorhost
