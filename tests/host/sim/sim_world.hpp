#pragma once
// Shared by the simulator's tests: scenarios by a line or at random, runs with the native and the general form of a
// rule, and results as text, so that a difference is readable.

#include <string>

#include "host/base/random.hpp"
#include "host/sim/admission_rule.hpp"
#include "host/sim/simulation.hpp"
#include "host/sim/work_times.hpp"

namespace actorhost::test {

/// Parses; the test fails if it cannot.
Distribution dist(const std::string& text);
/// Nodes, seconds and work; all other fields have their defaults.
Scenario scenario(uint32_t nodes, double seconds, const std::string& work, uint64_t seed = 1);

inline constexpr NativeRule kBsp{0, NativeRule::kAll, {}};
inline constexpr NativeRule kAsp{NativeRule::kFree, NativeRule::kAll, {}};
inline constexpr Resample kEvent{Resample::Kind::event, 0};
inline constexpr Resample kSticky{Resample::Kind::sticky, 0};
inline NativeRule ssp(int32_t staleness) { return {staleness, NativeRule::kAll, {}}; }
inline NativeRule pssp(uint32_t beta, int32_t staleness, Resample resample = kEvent) {
  return {staleness, beta, resample};
}
inline NativeRule pbsp(uint32_t beta, Resample resample = kEvent) { return pssp(beta, 0, resample); }

/// Runs with make_admission's form of the rule; the test fails if the simulation does.
SimResult run(const Scenario& scenario, const NativeRule& rule);
/// The same rule through the gate that the parameter server uses.
SimResult run_general(const Scenario& scenario, const NativeRule& rule);

/// The features of a random scenario.
struct ScenarioFeatures {
  bool leaves = true;    // churn with departures, crashes
  bool joins = true;     // churn with joins
  bool network = true;   // delay, loss, servers
  bool constant = true;  // also work that ends at the same time everywhere
};
Scenario random_scenario(Rng& rng, const ScenarioFeatures& features);
std::string describe(const Scenario& scenario);

/// Every number of a result to the last bit, one a line; `checks` only on request.
std::string text(const SimResult& result, bool checks = true);
/// The first difference of two such texts; empty when they are equal.
std::string difference(const std::string& a, const std::string& b);
/// A hash of such a text.
uint64_t hash(const SimResult& result);

}  // namespace actorhost::test
