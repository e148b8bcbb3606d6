#pragma once
// What the simulator's tests share: scenarios by a line or by lot, runs with the native and with the general form of a
// rule, and results as text, so that a difference can be read.

#include <string>

#include "host/base/random.hpp"
#include "host/sim/admission_rule.hpp"
#include "host/sim/simulation.hpp"
#include "host/sim/work_times.hpp"

namespace sim_test {

/// What must parse.
actorhost::Distribution dist(const std::string& text);
/// Nodes, seconds, work; everything else as it is by default.
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

/// Runs with make_admission's form of the rule; fails the test when the simulation does.
actorhost::SimResult run(const actorhost::Scenario& scenario, const actorhost::NativeRule& rule);
/// The same rule through the gate that the parameter server uses.
actorhost::SimResult run_general(const actorhost::Scenario& scenario, const actorhost::NativeRule& rule);

/// What to draw by lot.
struct Lot {
  bool leaves = true;    // churn with leavers, crashes
  bool joins = true;     // churn with joiners
  bool network = true;   // delay, loss, servers
  bool constant = true;  // also work that ends at the same time everywhere
};
actorhost::Scenario random_scenario(actorhost::Rng& rng, const Lot& lot);
std::string describe(const actorhost::Scenario& scenario);

/// Every number of a result to the last bit, a line for each; `checks` only when asked for.
std::string text(const actorhost::SimResult& result, bool checks = true);
/// Where two such texts part; empty when they do not.
std::string difference(const std::string& a, const std::string& b);
/// The same as a number.
uint64_t hash(const actorhost::SimResult& result);

}  // namespace sim_test
