#pragma once
// Shared by the simulator's tests: scenarios by a line or at random, runs with the native and the general form of a
// rule, and results as text, so that a difference is readable.

#include <string>

#include "host/base/random.hpp"
#include "host/sim/admission_rule.hpp"
#include "host/sim/simulation.hpp"
#include "host/sim/work_times.hpp"

namespace sim_test {

/// Parses; the test fails if it cannot.
actorhost::Distribution dist(const std::string& text);
/// Nodes, seconds and work; all other fields have their defaults.
actorhost::Scenario scenario(uint32_t nodes, double seconds, const std::string& work, uint64_t seed = 1);

inline constexpr actorhost::NativeRule kBsp{0, actorhost::NativeRule::kAll, {}};
inline constexpr actorhost::NativeRule kAsp{actorhost::NativeRule::kFree, actorhost::NativeRule::kAll, {}};
inline constexpr actorhost::Resample kEvent{actorhost::Resample::Kind::event, 0};
inline constexpr actorhost::Resample kSticky{actorhost::Resample::Kind::sticky, 0};
inline actorhost::NativeRule ssp(int32_t staleness) { return {staleness, actorhost::NativeRule::kAll, {}}; }
inline actorhost::NativeRule pssp(uint32_t beta, int32_t staleness, actorhost::Resample resample = kEvent) {
  return {staleness, beta, resample};
}
inline actorhost::NativeRule pbsp(uint32_t beta, actorhost::Resample resample = kEvent) {
  return pssp(beta, 0, resample);
}

/// Runs with make_admission's form of the rule; the test fails if the simulation does.
actorhost::SimResult run(const actorhost::Scenario& scenario, const actorhost::NativeRule& rule);
/// The same rule through the gate that the parameter server uses.
actorhost::SimResult run_general(const actorhost::Scenario& scenario, const actorhost::NativeRule& rule);

/// The features of a random scenario.
struct ScenarioFeatures {
  bool leaves = true;    // churn with departures, crashes
  bool joins = true;     // churn with joins
  bool network = true;   // delay, loss, servers
  bool constant = true;  // also work that ends at the same time everywhere
};
actorhost::Scenario random_scenario(actorhost::Rng& rng, const ScenarioFeatures& features);
std::string describe(const actorhost::Scenario& scenario);

/// Every number of a result to the last bit, one a line; `checks` only on request.
std::string text(const actorhost::SimResult& result, bool checks = true);
/// The first difference of two such texts; empty when they are equal.
std::string difference(const std::string& a, const std::string& b);
/// A hash of such a text.
uint64_t hash(const actorhost::SimResult& result);

}  // namespace sim_test
