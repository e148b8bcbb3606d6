#pragma once
// Shared by the tests of the peer-to-peer simulation.

#include "host/sim/simulation.hpp"
#include "host/sim/work_times.hpp"
#include "tests/test.hpp"

namespace actorhost {

inline Distribution duration(const std::string& text) { return Distribution::parse(text).value(); }

inline Scenario peer_scenario(uint32_t nodes, double seconds, const std::string& work, uint64_t seed) {
  Scenario out;
  out.nodes = nodes;
  out.seconds = seconds;
  out.work = duration(work);
  out.topology.kind = Topology::Kind::peers;
  out.seed = seed;
  return out;
}

inline NativeRule sampled(uint32_t beta, int32_t staleness, double poll) {
  return {staleness, beta, {Resample::Kind::poll, poll}};
}
inline NativeRule sticky(uint32_t beta, int32_t staleness) { return {staleness, beta, {Resample::Kind::sticky, 0}}; }
inline NativeRule bounded(int32_t staleness) { return {staleness, NativeRule::kAll, {}}; }
inline NativeRule unbounded() { return {NativeRule::kFree, NativeRule::kAll, {}}; }

inline SimResult run_peers(const Scenario& scenario, const NativeRule& rule) {
  const auto peer_rule = make_peer_rule(rule);
  auto result = simulate_peers(scenario, *peer_rule, nullptr);
  INFO("seed " << scenario.seed);
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

/// The same nodes around an oracle that draws the samples of the peers.
inline SimResult run_hub(const Scenario& scenario, const NativeRule& rule) {
  Scenario hub = scenario;
  hub.topology.kind = Topology::Kind::oracle;
  const uint64_t seed = sim_seed(scenario.seed, SimStream::peers);
  auto result = simulate_hub(
      hub, [&](const Clocks& clocks) { return make_admission(rule, clocks, seed); }, nullptr);
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

/// A random scenario with faults; traced.
Scenario troubled(uint64_t seed);

/// The greatest lead of the fastest live node over the slowest, in started steps, from a trace. A crashed peer leaves
/// the trace when its crash is detected, as it leaves the clocks.
int32_t widest_spread(const SimResult& result);

}  // namespace actorhost
