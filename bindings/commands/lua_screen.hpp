#pragma once
// `actor.c.screen`: a redrawn page of text, and keys, for `actorhost top`.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_screen(Vm& vm);

}  // namespace actorhost
