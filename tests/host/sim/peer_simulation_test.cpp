#include "tests/host/sim/peer_scenarios.hpp"
#include "tests/test.hpp"

namespace {

std::vector<NativeRule> every_rule() {
  return {bounded(0), bounded(3), unbounded(), sampled(1, 0, 0.5), sampled(4, 2, 0.1), sticky(1, 0), sticky(4, 2)};
}

/// Whether a node has made progress lately: within the time of the slowest steps, a crash's detection and lost
/// messages.
bool moves(const SimResult& result, const Scenario& scenario) {
  return result.ids.empty() || result.last_progress > scenario.seconds - 50;
}

class NeverRule final : public PeerRule {
 public:
  using PeerRule::PeerRule;
  Status decide(const PeerView& /*view*/, Decision& /*out*/) override { return {}; }
};

class BrokenRule final : public PeerRule {
 public:
  using PeerRule::PeerRule;
  Status decide(const PeerView& view, Decision& out) override {
    if (view.self.step == 3) return Error{Code::script, "no third step"};
    out.pass = true;
    return {};
  }
};

}  // namespace

TEST_CASE("no rule stops or breaks its bound, whatever goes wrong") {
  // Regression seeds. 53, 114: a minimum that was lost with two crashed nodes was not reported again. 93: messages in
  // flight when all nodes had left reached the next nodes. 9: an unsubscription ended a later subscription.
  std::vector<uint64_t> seeds = {53, 93, 114};
  for (uint64_t seed = 1; seed <= 40; ++seed) seeds.push_back(seed);
  for (const uint64_t seed : seeds) {
    const Scenario scenario = troubled(seed);
    for (const NativeRule& rule : every_rule()) {
      const SimResult result = run_peers(scenario, rule);
      INFO("seed " << seed << ", beta " << rule.beta << ", staleness " << rule.staleness << ", delay "
                   << scenario.delay.text() << ", loss " << scenario.loss);
      CHECK(moves(result, scenario));
      if (rule.beta == NativeRule::kAll && rule.staleness >= 0) CHECK(widest_spread(result) <= rule.staleness);
    }
  }
}

TEST_CASE("the seconds of all nodes are accounted for") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Scenario scenario = troubled(seed);
    scenario.churn = {};
    scenario.failures = {};
    for (const NativeRule& rule : every_rule()) {
      const SimResult result = run_peers(scenario, rule);
      CHECK(result.busy + result.waiting + result.network == Approx(scenario.nodes * scenario.seconds));
      CHECK(result.down == 0);
      CHECK(result.steps.size() == scenario.nodes);
    }
  }
}

TEST_CASE("one seed gives one result, another seed another") {
  for (const NativeRule& rule : every_rule()) {
    Scenario scenario = peer_scenario(25, 60, "1+exp(1)", 11);
    scenario.delay = duration("exp(0.1)");
    scenario.loss = 0.1;
    scenario.churn = {0.1, 0.1};
    const SimResult one = run_peers(scenario, rule);
    const SimResult two = run_peers(scenario, rule);
    CHECK(one.steps == two.steps);
    CHECK(one.messages == two.messages);
    CHECK(one.waiting == two.waiting);
    scenario.seed = 12;
    CHECK(run_peers(scenario, rule).busy != one.busy);
  }
}

TEST_CASE("one node, and two") {
  for (const NativeRule& rule : every_rule()) {
    Scenario scenario = peer_scenario(1, 20.5, "1", 1);
    scenario.delay = duration("10");
    const SimResult alone = run_peers(scenario, rule);
    CHECK(alone.mean_step == 21);
    CHECK(alone.messages == 0);
    scenario.nodes = 2;
    scenario.delay = {};
    CHECK(run_peers(scenario, rule).steps == run_hub(scenario, rule).steps);
  }
}

TEST_CASE("all nodes leave, and new nodes join") {
  for (const NativeRule& rule : every_rule()) {
    Scenario scenario = peer_scenario(10, 100, "1+exp(1)", 5);
    scenario.delay = duration("exp(0.5)");
    scenario.churn = {0, 5};
    const SimResult empty = run_peers(scenario, rule);
    CHECK(empty.ids.empty());
    CHECK(empty.departed == 10);
    CHECK(empty.mean_step == 0);
    scenario.churn = {1, 5};
    const SimResult refilled = run_peers(scenario, rule);
    CHECK(refilled.joined > 50);
    CHECK(refilled.departed > 50);
    scenario.churn = {};
    scenario.failures = {5, 0, 2.5};
    const SimResult dead = run_peers(scenario, rule);
    CHECK(dead.crashed == 10);
    CHECK(dead.ids.empty());
    CHECK(dead.down == Approx(25));
  }
}

TEST_CASE("a rule that passes no node is a deadlock when it does not draw again") {
  const Scenario scenario = peer_scenario(8, 50, "1", 1);
  NeverRule tree(NativeRule::kAll, {});
  NeverRule subscribed(3, {Resample::Kind::sticky, 0});
  for (NeverRule* rule : {&tree, &subscribed}) {
    const auto result = simulate_peers(scenario, *rule, nullptr);
    REQUIRE(!result.ok());
    CHECK(result.error().message.find("deadlock at 1 s: all 8 nodes wait") == 0);
  }
  NeverRule polls(3, {Resample::Kind::poll, 0.5});
  const auto result = required(simulate_peers(scenario, polls, nullptr));
  CHECK(result->mean_step == 1);
}

TEST_CASE("a rule's error ends the run, and so does the watch") {
  const Scenario scenario = peer_scenario(8, 50, "1", 1);
  BrokenRule broken(3, {Resample::Kind::poll, 0.5});
  const auto failed = simulate_peers(scenario, broken, nullptr);
  REQUIRE(!failed.ok());
  CHECK(failed.error().message == "no third step");
  SimWatch watch;
  watch.stop = true;
  const auto rule = make_peer_rule(bounded(0));
  const auto ended = simulate_peers(scenario, *rule, &watch);
  REQUIRE(!ended.ok());
  CHECK(ended.error().code == Code::interrupted);
}
