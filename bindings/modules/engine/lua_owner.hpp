#pragma once
// The module "actor.c.owner" behind `ctx.owns`: divides keys among workers by rendezvous hashing.

namespace actorhost {

class Vm;

/// Called by open_standard_modules.
void open_owner(Vm& vm);

}  // namespace actorhost
