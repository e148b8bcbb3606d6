#pragma once
// The Lua module `actor.c.control` for the scripts of subcommands: finds runs on this machine, and connects to a run as
// an observer. The Vm owns the connections. Requests block until the reply or their timeout.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_control(Vm& vm);

}  // namespace actorhost
