#pragma once
// A whole run of a scenario. `simulate` blocks until the end of simulated time; it touches no clock, no file and no
// other thread, and gives the same bits for the same scenario everywhere.

#include <atomic>
#include <functional>
#include <memory>

#include "host/sim/admission.hpp"
#include "host/sim/measures.hpp"
#include "host/sim/peer_rule.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

/// How a simulation is followed and ended.
struct SimWatch {
  static constexpr uint64_t kEvery = 4096;  // events between two looks
  std::atomic<bool> stop{false};            // any thread: ends it with Code::interrupted
  std::function<void(double)> tick;  // on the simulation's thread now and then, with the simulated seconds so far

  /// What the simulation does now and then.
  Status look(double now) {
    if (tick) tick(now);
    return stop.load(std::memory_order_relaxed) ? Status(Error{Code::interrupted, "interrupted"}) : Status();
  }
};

using MakeAdmission = std::function<std::unique_ptr<Admission>(const Clocks&)>;

/// Oracle and server topologies. Fails with the rule's error, when all nodes wait for ever (the message says which
/// nodes wait, at which step, and which is slowest), and when `watch` says stop. `watch` may be null.
Result<SimResult> simulate_hub(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch);

/// Topology peers, however the scenario calls it; else as simulate_hub. Refuses a replay, and a rule that samples again
/// at each event, which no peer hears of.
Result<SimResult> simulate_peers(const Scenario& scenario, PeerRule& rule, SimWatch* watch);

}  // namespace actorhost
