#pragma once
// The C module "actor.c.events" behind stdlib/actor/collective/events.lua.

namespace actorhost {

class Vm;

void register_events_module(Vm& vm);

}  // namespace actorhost
