#pragma once
// `actor.c.screen`: a page of text that is drawn again and again, and keys, for `actorhost top`.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_screen(Vm& vm);

}  // namespace actorhost
