#pragma once
// The Lua module "actor.c.mapreduce": a worker's part in map-reduce actions, and what stdlib/actor/mapreduce needs of
// C.

namespace actorhost {

class Vm;

void register_mapreduce_module(Vm& vm);

}  // namespace actorhost
