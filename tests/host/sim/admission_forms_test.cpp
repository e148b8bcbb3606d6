// Compares each O(1) form of a rule with the rule itself, called through the parameter server's gate.

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

void same_bits(const NativeRule& rule, const ScenarioFeatures& features, int scenarios, bool checks) {
  Rng rng(42, static_cast<uint64_t>(rule.staleness) << 32 | rule.beta);
  for (int i = 0; i < scenarios; ++i) {
    const Scenario scenario = random_scenario(rng, features);
    INFO(describe(scenario));
    REQUIRE(difference(text(run(scenario, rule), checks), text(run_general(scenario, rule), checks)) == "");
  }
}

constexpr ScenarioFeatures kAnything;
// For schedules without departures, since the two forms draw replacements of departed members differently.
constexpr ScenarioFeatures kNoDepartures{.leaves = false};

}  // namespace

TEST_CASE("bsp gives the same bits as the rule behind the gate, whatever goes wrong") {
  same_bits(kBsp, kAnything, 150, true);
}

TEST_CASE("ssp gives the same bits as the rule behind the gate, whatever goes wrong") {
  for (const int32_t staleness : {1, 2, 4, 20}) same_bits(ssp(staleness), kAnything, 60, true);
}

TEST_CASE("asp gives the same bits as the rule behind the gate, whatever goes wrong") {
  same_bits(kAsp, kAnything, 100, true);
}

TEST_CASE("a sticky sample gives the same bits as the rule behind the gate") {
  for (const auto& [beta, staleness] : {std::pair(1U, 0), {2U, 0}, {3U, 1}, {7U, 3}}) {
    ScenarioFeatures features = kNoDepartures;
    features.joins = false;
    same_bits(pssp(beta, staleness, kSticky), features, 60, true);
  }
}

TEST_CASE("a sticky sample gives the same bits also when nodes join") {
  Rng rng(7);
  for (int i = 0; i < 40; ++i) {
    Scenario scenario = random_scenario(rng, kNoDepartures);
    scenario.nodes = std::max(scenario.nodes, 3U);
    scenario.churn.joins = 1;
    INFO(describe(scenario));
    const NativeRule rule = pbsp(2, kSticky);
    REQUIRE(difference(text(run(scenario, rule), false), text(run_general(scenario, rule), false)) == "");
  }
}

TEST_CASE("a sample of all nodes is bsp or ssp, however it is drawn, as long as no node joins") {
  Rng rng(8);
  for (int i = 0; i < 60; ++i) {
    ScenarioFeatures features = kAnything;
    features.joins = false;
    const Scenario scenario = random_scenario(rng, features);
    INFO(describe(scenario));
    const std::string bsp = text(run(scenario, kBsp), false);
    REQUIRE(difference(text(run(scenario, pbsp(64, kEvent)), false), bsp) == "");
    REQUIRE(difference(text(run(scenario, pbsp(1000, kSticky)), false), bsp) == "");
    REQUIRE(difference(text(run(scenario, pssp(64, 2, kSticky)), false), text(run(scenario, ssp(2)), false)) == "");
  }
}

// Nodes that pass at one event pass in the order of their steps, not of their requests: the same except for ties.
TEST_CASE("a sample of all nodes at each event takes the steps of ssp") {
  Rng rng(12);
  for (int i = 0; i < 60; ++i) {
    const Scenario scenario =
        random_scenario(rng, {.leaves = true, .joins = false, .network = false, .constant = false});
    INFO(describe(scenario));
    const SimResult sampled = run(scenario, pssp(64, 2, kEvent));
    const SimResult whole = run(scenario, ssp(2));
    CHECK(sampled.steps == whole.steps);
    CHECK(sampled.updates == whole.updates);
    CHECK(sampled.waiting == Approx(whole.waiting).margin(1e-9));
  }
}

TEST_CASE("an empty sample is asp") {
  Rng rng(9);
  for (int i = 0; i < 40; ++i) {
    const Scenario scenario = random_scenario(rng, kAnything);
    INFO(describe(scenario));
    const std::string free = text(run(scenario, kAsp), false);
    REQUIRE(difference(text(run(scenario, pbsp(0, kEvent)), false), free) == "");
    REQUIRE(difference(text(run(scenario, pbsp(0, kSticky)), false), free) == "");
  }
}

// The gate adds the times of polls in another order, so times may differ in the last digits. When a node joins, the
// gate asks the rule again, which may delay a poll by the shortest interval.
TEST_CASE("a polled sample gives the steps and, except for rounding, the times of the rule behind the gate") {
  Rng rng(10);
  for (int i = 0; i < 150; ++i) {
    ScenarioFeatures features = kNoDepartures;
    features.joins = false;
    features.constant = false;  // no ties, which rounding could order differently
    const Scenario scenario = random_scenario(rng, features);
    const NativeRule rule = pssp(1 + static_cast<uint32_t>(rng.below(4)), static_cast<int32_t>(rng.below(3)),
                                 {Resample::Kind::poll, rng.below(2) == 0 ? 0.05 : 0.7});
    INFO(describe(scenario));
    const SimResult fast = run(scenario, rule);
    const SimResult general = run_general(scenario, rule);
    REQUIRE(fast.steps == general.steps);
    CHECK(fast.updates == general.updates);
    CHECK(fast.messages == general.messages);
    CHECK(fast.busy == Approx(general.busy).epsilon(1e-9));
    CHECK(fast.waiting == Approx(general.waiting).epsilon(1e-9).margin(1e-9));
    CHECK(fast.staleness.mean == Approx(general.staleness.mean).epsilon(1e-9));
  }
}
