#pragma once
// actor.c.sim: the simulator of host/sim for Lua. stdlib/actor/sim is its user interface.

#include <memory>

#include "bindings/modules/tool/call_watchdog.hpp"
#include "bindings/vm/vm.hpp"
#include "host/sim/simulation.hpp"

namespace actorhost {

void open_sim(Vm& vm);

/// Lets other threads watch and end a Vm's simulations; lives as long as the Vm.
struct SimControl {
  SimWatch watch;
  std::unique_ptr<CallWatchdog> watchdog;  // for rules in Lua; none: no limit
};
/// Call it on the Vm's thread.
SimControl& sim_control(Vm& vm);

}  // namespace actorhost
