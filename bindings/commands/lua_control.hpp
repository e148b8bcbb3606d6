#pragma once
// `actor.c.control`: looking into a run from a subcommand's script.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_control(Vm& vm);

}  // namespace actorhost
