#pragma once
// A whole run of a scenario. `simulate` blocks until the end of simulated time; it touches no clock, no file and no
// other thread, and gives the same bits for the same scenario everywhere.

#include <atomic>
#include <functional>
#include <memory>

#include "host/sim/admission.hpp"
#include "host/sim/measures.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

/// How another thread follows and ends a simulation.
struct SimWatch {
  std::atomic<double> time{0};    // simulated seconds so far
  std::atomic<bool> stop{false};  // ends it with Code::interrupted
};

using MakeAdmission = std::function<std::unique_ptr<Admission>(const Clocks&)>;

/// Oracle and server topologies. Fails with the rule's error, when everybody waits for ever (the message says who
/// waits, at which step, and who is slowest), and when `watch` says stop. `watch` may be null.
Result<SimResult> simulate_hub(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch);

}  // namespace actorhost
