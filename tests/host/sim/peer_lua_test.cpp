// Lua rules of peers: the states that they receive, and that the classic rules decide as in C++.
#include "bindings/modules/engine/barrier_api.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/host/sim/peer_scenarios.hpp"
#include "tests/test.hpp"

namespace {

NativeRule unsampled() { return {0, NativeRule::kAll, {}}; }

struct PeerLua : actorhost::test::VmFixture {
  /// Runs the rule of `expression`, after `barrier` is defined; samples as `form`. Errors of the run are its result.
  Result<SimResult> simulate(const Scenario& scenario, const std::string& expression, const NativeRule& form) {
    const std::string source =
        "local barrier = require 'actor.barrier'; return barrier.evaluator(" + expression + ", 0)";
    Status status = vm->load(source, "@job.lua");
    if (status.ok()) status = vm->call(0, 1);
    if (!status.ok()) FAIL(status.error().message);
    auto rule = LuaRule::pop(*vm);
    if (!rule.ok()) FAIL(rule.error().message);
    const auto peer_rule = make_peer_rule(**rule, form.beta, form.resample);
    return simulate_peers(scenario, *peer_rule, nullptr);
  }

  std::string error_on_peers(const std::string& rule) {
    const auto result = simulate(peer_scenario(5, 20, "exp(1)", 1), rule, unsampled());
    REQUIRE_FALSE(result.ok());
    return result.error().message;
  }
};

}  // namespace

TEST_CASE_METHOD(PeerLua, "the classic rules in Lua decide on peers as they do in C++, whatever goes wrong") {
  const std::vector<std::pair<const char*, NativeRule>> rules = {
      {"'bsp'", bounded(0)},
      {"'ssp:3'", bounded(3)},
      {"'asp'", unbounded()},
      {"'pbsp:4@poll:0.5'", sampled(4, 0, 0.5)},
      {"'pssp:2:3@poll:0.25'", sampled(2, 3, 0.25)},
      {"'pbsp:4@sticky'", sticky(4, 0)},
      {"'pssp:2:1@sticky'", sticky(2, 1)},
  };
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Scenario scenario = troubled(seed);
    for (const auto& [lua, native] : rules) {
      INFO(lua << ", seed " << seed);
      const auto actual = simulate(scenario, lua, native);
      if (!actual.ok()) FAIL(actual.error().message);
      const SimResult expected = run_peers(scenario, native);
      CHECK(actual->steps == expected.steps);
      CHECK(actual->messages == expected.messages);
      CHECK(actual->checks == expected.checks);
    }
  }
}

TEST_CASE_METHOD(PeerLua, "any rule can be sampled on peers, and receives the replied states") {
  const char* rule = R"(barrier.sample(6, function(view)
    assert(view.n == 6 and #view.steps == 6 and view.population == 40)
    local lowest, own = math.huge, 0
    for i = 1, view.n do
      lowest = math.min(lowest, view.steps[i])
      if view.ids[i] == view.id then own = own + 1; assert(view.steps[i] == view.step and not view.busy[i]) end
      assert(view.alive[i])
      if view.steps[i] > 0 then
        assert(view.durations[i] >= 1 and view.averages[i] >= 1 and view.started[i] <= view.now)
      end
    end
    assert(own <= 1 and lowest == view:min() and view.waited >= 0 and view.duration >= 1)
    return view:behind(1) <= 2
  end, { resample = { poll = 0.5 } }))";
  Scenario scenario = peer_scenario(40, 60, "1+exp(1)", 3);
  scenario.delay = duration("exp(0.1)");
  scenario.loss = 0.1;
  const auto result = simulate(scenario, rule, sampled(6, 0, 0.5));
  if (!result.ok()) FAIL(result.error().message);
  // The result is between the results of nodes that wait for none and of nodes that wait for the whole sample.
  CHECK(result->mean_step < run_peers(scenario, unbounded()).mean_step);
  CHECK(result->mean_step > run_peers(scenario, sampled(6, 1, 0.5)).mean_step);
}

TEST_CASE_METHOD(PeerLua, "without a sample a rule on peers receives the minimum and the number of nodes") {
  Scenario scenario = peer_scenario(9, 30, "1+exp(1)", 3);
  scenario.delay = duration("0.01");
  const auto result = simulate(scenario,
                               "function(view) assert(view.n == 9 and view.population == 9); "
                               "return view:min() >= view.step - 2 end",
                               unsampled());
  if (!result.ok()) FAIL(result.error().message);
  CHECK(result->steps == run_peers(scenario, bounded(2)).steps);
}

TEST_CASE_METHOD(PeerLua, "a field that needs a sample raises 'use sample'") {
  for (const char* use : {"view.steps[1]", "view.ids[1]", "#view.steps", "view:max()", "view:passed(1)",
                          "view:behind(0)", "view:quantile(0.5)"}) {
    const std::string message = error_on_peers("function(view) return " + std::string(use) + " ~= nil end");
    INFO(message);
    CHECK(message.find("use sample") != std::string::npos);
    CHECK(message.find("job.lua:1") != std::string::npos);
  }
  CHECK(error_on_peers("'backup:1'").find("use sample") != std::string::npos);
}

TEST_CASE_METHOD(PeerLua, "a time budget around a sampled rule is kept on peers") {
  Scenario scenario = peer_scenario(20, 100, "1+exp(1)", 4);
  scenario.delay = duration("0.01");
  scenario.stragglers = {0.1, 20, 0};
  const auto patient = simulate(scenario, "barrier.pbsp(10, { resample = { poll = 0.5 } })", sampled(10, 0, 0.5));
  const auto hasty = simulate(scenario, "barrier.delay_bounded(0.75, barrier.pbsp(10, { resample = { poll = 0.5 } }))",
                              sampled(10, 0, 0.5));
  if (!patient.ok()) FAIL(patient.error().message);
  if (!hasty.ok()) FAIL(hasty.error().message);
  CHECK(hasty->mean_step > patient->mean_step * 1.5);
  // No step waits longer than its budget plus the messages of a draw in progress at its end.
  CHECK((hasty->waiting + hasty->network) / static_cast<double>(hasty->updates) <= 0.75 + 0.02 + 1e-6);
}
