#include "tests/host/sim/peer_scenarios.hpp"
#include "tests/test.hpp"

TEST_CASE("without delay and loss, a tree of minima equals an oracle, step for step") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const int32_t staleness : {0, 1, 4}) {
      const Scenario scenario = peer_scenario(100, 60, "1+exp(1)", seed);
      const SimResult peers = run_peers(scenario, bounded(staleness));
      const SimResult hub = run_hub(scenario, bounded(staleness));
      INFO("seed " << seed << ", staleness " << staleness);
      CHECK(peers.steps == hub.steps);
      CHECK(peers.busy == hub.busy);
      CHECK(peers.staleness.mean == hub.staleness.mean);
    }
  }
}

TEST_CASE("a bulk-synchronous step costs one message up and one down each edge of the tree") {
  for (const uint32_t nodes : {2U, 3U, 10U, 64U}) {
    // 1 s of work in lockstep: after 50.5 s each edge has carried 50 rises and as many minima.
    const SimResult result = run_peers(peer_scenario(nodes, 50.5, "1", 1), bounded(0));
    INFO(nodes << " nodes");
    CHECK(result.messages == 2ULL * (nodes - 1) * 50);
    CHECK(result.mean_step == 51);
  }
}

TEST_CASE("with loss p every hop costs 1/(1-p) messages") {
  Scenario scenario = peer_scenario(64, 500, "1", 2);
  scenario.delay = duration("0.001");
  scenario.retry = 0.01;
  const SimResult clean = run_peers(scenario, bounded(0));
  scenario.loss = 0.25;
  const SimResult lossy = run_peers(scenario, bounded(0));
  const double clean_hops = static_cast<double>(clean.messages) / static_cast<double>(clean.updates);
  const double lossy_hops = static_cast<double>(lossy.messages) / static_cast<double>(lossy.updates);
  CHECK(lossy_hops / clean_hops == Approx(1 / 0.75).epsilon(0.02));
  CHECK(static_cast<double>(lossy.lost) / static_cast<double>(lossy.messages) == Approx(0.25).epsilon(0.02));
}

TEST_CASE("a bulk-synchronous step waits for the way up and down the tree") {
  Scenario scenario = peer_scenario(15, 300, "1", 3);
  scenario.delay = duration("0.1");
  // Depth 3: 0.3 s up; the root continues at once, a leaf 0.3 s later, and the leaf's next rise takes 0.3 s up again.
  const SimResult result = run_peers(scenario, bounded(0));
  CHECK(result.mean_step == Approx(300 / 1.6).margin(2));
}

TEST_CASE("ssp bounds the spread whatever the delays are") {
  for (const char* delay : {"exp(0.3)", "pareto(1.5,0.1)", "uniform(0,2)", "5"}) {
    Scenario scenario = peer_scenario(25, 100, "0.1+exp(1)", 5);
    scenario.speed = duration("lognormal(0,0.5)");
    scenario.delay = duration(delay);
    scenario.loss = 0.2;
    scenario.trace = true;
    for (const int32_t staleness : {0, 2}) {
      const SimResult result = run_peers(scenario, bounded(staleness));
      INFO("delay " << delay << ", staleness " << staleness);
      CHECK(widest_spread(result) == staleness);
    }
  }
}

TEST_CASE("the tree continues when nodes leave and crash, including its root") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Scenario scenario = peer_scenario(30, 400, "1+exp(1)", seed);
    scenario.delay = duration("exp(0.05)");
    scenario.loss = 0.1;
    scenario.churn = {0.1, 0.1};
    scenario.failures = {200, 20, 2.5};
    const SimResult result = run_peers(scenario, bounded(2));
    INFO("seed " << seed << ", " << result.crashed << " crashed, " << result.departed << " left");
    CHECK(result.crashed > 20);
    CHECK(result.last_progress > 390);
    // Each crash holds all nodes up for 2.5 s; little else delays them.
    CHECK(result.min_step > 40);
  }
}

TEST_CASE("asp sends nothing, and waits for nothing") {
  Scenario scenario = peer_scenario(50, 100, "1+exp(1)", 4);
  scenario.delay = duration("5");
  scenario.loss = 0.5;
  const SimResult result = run_peers(scenario, unbounded());
  CHECK(result.messages == 0);
  CHECK(result.waiting == 0);
  CHECK(result.network == 0);
  CHECK(result.steps == run_hub(peer_scenario(50, 100, "1+exp(1)", 4), unbounded()).steps);
}
