#include "tests/host/sim/peer_scenarios.hpp"
#include "tests/test.hpp"

TEST_CASE("without delay and loss, polling peers equal an oracle's polls, step for step") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const NativeRule& rule : {sampled(10, 0, 0.5), sampled(3, 2, 0.25), sampled(1, 0, 2), sampled(500, 0, 0.5)}) {
      const Scenario scenario = peer_scenario(100, 60, "1+exp(1)", seed);
      const SimResult peers = run_peers(scenario, rule);
      const SimResult hub = run_hub(scenario, rule);
      INFO("seed " << seed << ", beta " << rule.beta);
      CHECK(peers.steps == hub.steps);
      CHECK(peers.updates == hub.updates);
      CHECK(peers.checks == hub.checks);
      CHECK(peers.busy == hub.busy);
      CHECK(peers.staleness.mean == hub.staleness.mean);
      CHECK(peers.sequence_inconsistency.mean == hub.sequence_inconsistency.mean);
    }
  }
}

TEST_CASE("without delay and loss, subscribed peers equal an oracle's sticky samples, step for step") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const NativeRule& rule : {sticky(10, 0), sticky(3, 2), sticky(1, 0)}) {
      const Scenario scenario = peer_scenario(100, 60, "1+exp(1)", seed);
      INFO("seed " << seed << ", beta " << rule.beta);
      CHECK(run_peers(scenario, rule).steps == run_hub(scenario, rule).steps);
    }
  }
}

TEST_CASE("with their own streams, peers have the oracle's mean step within its error") {
  double hub_mean = 0;
  double peer_mean = 0;
  double squares = 0;
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    const auto seed = static_cast<uint64_t>(run);
    const double hub = run_hub(peer_scenario(100, 60, "1+exp(1)", seed), sampled(5, 0, 0.5)).mean_step;
    const double peers = run_peers(peer_scenario(100, 60, "1+exp(1)", seed + 1000), sampled(5, 0, 0.5)).mean_step;
    hub_mean += hub / kRuns;
    peer_mean += peers / kRuns;
    squares += (hub * hub + peers * peers) / (2 * kRuns);
  }
  const double mean = (hub_mean + peer_mean) / 2;
  const double error = std::sqrt(std::max(squares - mean * mean, 0.0) * 2 / kRuns);
  CHECK(std::abs(hub_mean - peer_mean) < 4 * error);
}

TEST_CASE("a draw of beta peers costs a query and a reply each, and nothing for the requester itself") {
  Scenario scenario = peer_scenario(20, 100, "1+exp(1)", 3);
  scenario.delay = duration("exp(0.05)");
  const SimResult some = run_peers(scenario, sampled(5, 0, 0.5));
  const double per_check = static_cast<double>(some.messages) / static_cast<double>(some.checks);
  // The requester is one of 5 out of 20 in a quarter of the draws.
  CHECK(per_check == Approx(2 * (5 - 0.25)).epsilon(0.01));
  const SimResult all = run_peers(scenario, sampled(20, 0, 0.5));
  // Draws in progress at the end have no check yet.
  CHECK(all.messages >= 2 * 19 * all.checks);
  CHECK(all.messages <= 2 * 19 * (all.checks + 20));
  CHECK(run_peers(scenario, sampled(0, 0, 0.5)).messages == 0);
}

TEST_CASE("with loss p a reply costs 1/(1-p)^2 queries and 1/(1-p) replies") {
  // With so many nodes hardly any node draws itself.
  Scenario scenario = peer_scenario(1000, 30, "1+exp(1)", 4);
  scenario.delay = duration("0.01");
  scenario.retry = 0.02;
  for (const double p : {0.1, 0.3, 0.5}) {
    scenario.loss = p;
    const SimResult result = run_peers(scenario, sampled(5, 0, 0.5));
    const double through = 1 - p;
    const double per_check = static_cast<double>(result.messages) / static_cast<double>(result.checks);
    INFO("loss " << p);
    CHECK(per_check == Approx(5 * (1 / (through * through) + 1 / through)).epsilon(0.02));
    CHECK(static_cast<double>(result.lost) / static_cast<double>(result.messages) == Approx(p).epsilon(0.02));
  }
}

TEST_CASE("a sampled step takes two delays more, and sees clocks as they were at the replies") {
  Scenario scenario = peer_scenario(30, 300, "1", 5);
  scenario.delay = duration("0.25");
  // All nodes work in lockstep, so every reply lets them pass: a step is 1 s of work and 0.5 s of messages.
  const SimResult result = run_peers(scenario, sampled(30, 0, 0.5));
  CHECK(result.mean_step == Approx(200).margin(1.5));
  CHECK(result.network == Approx(30 * 100).epsilon(0.02));
  CHECK(result.waiting == Approx(0).margin(1e-6));
}

TEST_CASE("slower messages mean fewer steps, sampled or subscribed") {
  for (const NativeRule& rule : {sampled(5, 0, 0.5), sticky(5, 0)}) {
    double before = 1e9;
    for (const char* delay : {"0", "exp(0.1)", "exp(0.5)", "exp(2)"}) {
      Scenario scenario = peer_scenario(100, 200, "1+exp(1)", 6);
      scenario.delay = duration(delay);
      const double mean = run_peers(scenario, rule).mean_step;
      CHECK(mean < before);
      before = mean;
    }
  }
}

TEST_CASE("a sticky sample of all nodes is BSP: no node is more than a step ahead") {
  Scenario scenario = peer_scenario(12, 60, "1+exp(1)", 7);
  scenario.delay = duration("exp(0.2)");
  scenario.loss = 0.2;
  scenario.trace = true;
  for (const int32_t staleness : {0, 3}) {
    const SimResult result = run_peers(scenario, sticky(12, staleness));
    CHECK(widest_spread(result) <= staleness);
    CHECK(result.mean_step > 10);
  }
}

TEST_CASE("an undetected crash of a member delays the nodes that query it for two tries only") {
  // Without draws of another peer each node would query the crashed nodes for 10000 seconds.
  Scenario scenario = peer_scenario(40, 200, "1", 8);
  scenario.failures.mean_life = 150;
  scenario.failures.detect = 10000;
  scenario.delay = duration("0.01");
  const SimResult result = run_peers(scenario, sampled(3, 1000, 0.5));
  REQUIRE(result.crashed > 20);
  // The fewest steps of a survivor: every draw includes crashed nodes again and again.
  std::vector<int32_t> steps = result.steps;
  std::sort(steps.begin(), steps.end());
  CHECK(steps.back() > 100);
}

TEST_CASE("members of a subscribed sample that crash or leave are replaced") {
  Scenario scenario = peer_scenario(30, 300, "1+exp(1)", 9);
  scenario.delay = duration("exp(0.05)");
  scenario.loss = 0.1;
  scenario.failures.mean_life = 100;
  scenario.failures.repair = 10;
  scenario.churn = {0.2, 0.2};
  const SimResult result = run_peers(scenario, sticky(4, 0));
  CHECK(result.crashed > 30);
  CHECK(result.departed > 30);
  CHECK(result.last_progress > 298);
  CHECK(result.updates > 1000);
}

TEST_CASE("peers refuse unsupported options by name") {
  const Scenario scenario = peer_scenario(3, 10, "1", 1);
  const auto event = make_peer_rule(NativeRule{0, 2, {Resample::Kind::event, 0}});
  const auto refused = simulate_peers(scenario, *event, nullptr);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == Code::unsupported);
  CHECK(refused.error().message.find("poll:SECONDS or sticky") != std::string::npos);
  Replay replay;
  Scenario replayed = scenario;
  replayed.replay = &replay;
  const auto bsp = make_peer_rule(bounded(0));
  const auto no_replay = simulate_peers(replayed, *bsp, nullptr);
  REQUIRE(!no_replay.ok());
  CHECK(no_replay.error().message.find("replay") != std::string::npos);
}
