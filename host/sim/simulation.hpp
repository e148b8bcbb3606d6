#pragma once
// Runs a scenario. `simulate_hub` and `simulate_peers` block until the end of simulated time. They use no clock, no
// file and no other thread, and give the same bits for the same scenario on every machine.

#include <atomic>
#include <functional>
#include <memory>

#include "host/sim/admission.hpp"
#include "host/sim/measures.hpp"
#include "host/sim/peer_rule.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

/// How to observe and stop a simulation.
struct SimWatch {
  static constexpr uint64_t kEvery = 4096;  // events between two calls of poll
  std::atomic<bool> stop{false};            // set by any thread: the run ends with Code::interrupted
  std::function<void(double)> tick;  // called regularly on the simulation's thread, with the simulated seconds so far

  /// Called by the simulation every kEvery events.
  Status poll(double now) {
    if (tick) tick(now);
    return stop.load(std::memory_order_relaxed) ? Status(Error{Code::interrupted, "interrupted"}) : Status();
  }
};

using MakeAdmission = std::function<std::unique_ptr<Admission>(const Clocks&)>;

/// Runs the topologies oracle and server. Fails with the rule's error, when all nodes wait without end (the message
/// names the waiting nodes, their steps and the slowest nodes), and when `watch` requests a stop. `watch` may be null.
Result<SimResult> simulate_hub(const Scenario& scenario, const MakeAdmission& admission, SimWatch* watch);

/// Runs the topology peers, whatever topology the scenario names; otherwise as simulate_hub. Refuses a replay, and a
/// rule that resamples at each event, since no peer observes all events.
Result<SimResult> simulate_peers(const Scenario& scenario, PeerRule& rule, SimWatch* watch);

}  // namespace actorhost
