#pragma once
// `actor.c.control`: the observer's connection to a run, for a subcommand's script.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_control(Vm& vm);

}  // namespace actorhost
