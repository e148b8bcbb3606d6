#pragma once
// `actor.c.dashboard`: the page of a recorded run, for `actorhost dashboard`.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_dashboard(Vm& vm);

}  // namespace actorhost
