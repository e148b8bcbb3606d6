#pragma once
// actor.c.sim: the simulator of host/sim for Lua. See stdlib/actor/sim for what users call.

#include <memory>

#include "bindings/modules/call_watchdog.hpp"
#include "bindings/vm/vm.hpp"
#include "host/sim/simulation.hpp"

namespace actorhost {

void open_sim(Vm& vm);

/// How the simulations of a Vm are followed and ended by other threads; lives as long as the Vm.
struct SimControl {
  SimWatch watch;
  std::unique_ptr<CallWatchdog> watchdog;  // of rules in Lua; none: they may take for ever
};
SimControl& sim_control(Vm& vm);

}  // namespace actorhost
