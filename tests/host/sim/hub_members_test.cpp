// Nodes that join, leave and crash, and simulations that end early.

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

/// Decides with `decision`, and counts the decisions.
class Fixed final : public BarrierRule {
 public:
  explicit Fixed(std::function<Result<bool>(int call)> decision) : decision_(std::move(decision)) {}
  Status decide(const Progress&, std::span<const Slot> requesters, double, std::span<Decision> out) override {
    auto pass = decision_(++calls_);
    if (!pass.ok()) return pass.error();
    for (size_t k = 0; k < requesters.size(); ++k) out[k].pass = *pass;
    return {};
  }

 private:
  std::function<Result<bool>(int)> decision_;
  int calls_ = 0;
};

Result<SimResult> run_fixed(const Scenario& scenario, std::function<Result<bool>(int)> decision, SimWatch* watch) {
  Fixed rule(std::move(decision));
  return simulate_hub(
      scenario, [&](const Clocks& clocks) { return std::make_unique<RuleAdmission>(clocks, rule); }, watch);
}

}  // namespace

TEST_CASE("when all nodes wait without end the error names the longest waiter, its time and the slowest nodes") {
  const auto hold = [](int) { return Result<bool>(false); };
  auto three = run_fixed(scenario(3, 100, "2"), hold, nullptr);
  CHECK(failure_of(three).code == Code::script);
  CHECK(
      three.error().message ==
      "deadlock at 2 s: all 3 nodes wait, no node works and no re-check is due. Node 0 has waited longest, since 2 s, "
      "with 1 steps completed; the slowest, with 1 completed, wait as well: nodes 0, 1, 2");
  CHECK_THAT(failure_of(run_fixed(scenario(9, 100, "2"), hold, nullptr)).message,
             Catch::EndsWith("nodes 0, 1, 2, 3, 4 and 4 more"));
  auto one = run_fixed(
      scenario(1, 100, "2"), [](int call) { return Result<bool>(call < 4); }, nullptr);
  CHECK_THAT(failure_of(one).message, Catch::Contains("deadlock at 8 s") && Catch::EndsWith("node 0"));
}

TEST_CASE("waiting beyond the end is no deadlock while a node works") {
  // The rule holds all nodes; but the last steps end after the horizon.
  Scenario late = scenario(2, 3, "2");
  late.stragglers = {0.5, 10, 0};
  auto result = run_fixed(
      late, [](int) { return Result<bool>(false); }, nullptr);
  REQUIRE(result.ok());
  CHECK(result->updates == 1);
  CHECK(result->waiting == Approx(1));
}

TEST_CASE("a rule's error ends the simulation with it") {
  auto result = run_fixed(
      scenario(3, 100, "2"),
      [](int call) {
        return call < 5 ? Result<bool>(true) : Result<bool>(Error{Code::script, "it broke"});
      },
      nullptr);
  CHECK(failure_of(result).message == "it broke");
}

TEST_CASE("the watch receives the simulated time and ends the simulation") {
  SimWatch watch;
  double time = 0;
  watch.tick = [&](double now) {
    CHECK(now >= time);
    time = now;
  };
  const auto stops = [&](int call) {
    if (call == 20000) watch.stop = true;
    return Result<bool>(true);
  };
  CHECK(failure_of(run_fixed(scenario(10, 1e9, "exp(1)"), stops, &watch)).code == Code::interrupted);
  CHECK(time > 1000);
  CHECK(time < 10000);
}

TEST_CASE("a simulation without a stop ends at the horizon, and the watch changes no bit") {
  SimWatch watch;
  const Scenario here = scenario(10, 50, "exp(1)");
  const auto make = [](const Clocks& clocks) { return make_admission(kBsp, clocks, 1); };
  auto watched = simulate_hub(here, make, &watch);
  auto alone = simulate_hub(here, make, nullptr);
  REQUIRE(watched.ok());
  REQUIRE(alone.ok());
  CHECK(text(*watched) == text(*alone));
  CHECK(watched->ended == 50);
}

TEST_CASE("when all nodes have left the simulation ends") {
  Scenario empty = scenario(5, 1000, "exp(1)");
  empty.churn.leaves = 2;
  for (const NativeRule& rule : {kBsp, kAsp, pbsp(2), pbsp(2, kSticky), pbsp(2, {Resample::Kind::poll, 1})}) {
    const SimResult result = run(empty, rule);
    CHECK(result.departed == 5);
    CHECK(result.ids.empty());
    CHECK(result.mean_step == 0);
    CHECK(result.last_progress < 100);
    CHECK(result.busy > 0);
    CHECK(result.progress.size() < 20);
  }
}

TEST_CASE("after all nodes have left new nodes may join, and start at 0") {
  Scenario turnover = scenario(2, 400, "exp(1)");
  turnover.churn = {0.05, 0.2};
  for (const NativeRule& rule : {kBsp, ssp(2), kAsp, pbsp(2), pbsp(2, kSticky)}) {
    const SimResult result = run(turnover, rule);
    CHECK(result.joined > 10);
    CHECK(result.departed > 10);
    CHECK(result.last_progress > 100);
  }
}

TEST_CASE("nodes join and leave at the given rates") {
  Scenario churn = scenario(100, 1000, "10");
  churn.churn = {0.5, 0.3};
  const SimResult result = run(churn, kAsp);
  CHECK(std::abs(result.joined - 500.0) < 4.5 * std::sqrt(500));
  CHECK(std::abs(result.departed - 300.0) < 4.5 * std::sqrt(300));
  CHECK(result.ids.size() == 100 + result.joined - result.departed);
}

TEST_CASE("nodes crash after their mean life, are removed after the detection time, and are replaced") {
  Scenario failing = scenario(50, 1000, "1");
  failing.failures = {100, 10, 4};
  const SimResult result = run(failing, kAsp);
  // There are at most 50 lives, each of 100 s and a gap of 10 s.
  const double expected = 50.0 * 1000 / 110;
  CHECK(std::abs(result.crashed - expected) < 4.5 * std::sqrt(expected));
  CHECK(result.joined <= result.crashed);
  CHECK(result.joined + 20 >= result.crashed);
  CHECK(result.down <= 4.0 * result.crashed);
  CHECK(result.down >= 4.0 * (result.crashed - 10));
  CHECK(result.departed == 0);
}

TEST_CASE("bsp stops while a crashed node is undetected, and continues once the node is removed") {
  Scenario failing = scenario(3, 60, "1");
  failing.failures = {15, 0, 7.25};
  failing.trace = true;
  int stops = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    failing.seed = seed;
    double last = 0;
    double missed = -1;
    for (const SimTraceEvent& event : run(failing, kBsp).trace) {
      if (event.kind == SimTraceEvent::Kind::leave) missed = event.time;
      if (event.kind != SimTraceEvent::Kind::start) continue;
      const double gap = event.time - last;
      // A step follows the previous after a second, or after a crash has been detected.
      if (gap > 0 && std::abs(gap - 1) > 1e-9) {
        CHECK(event.time == missed);
        CHECK(gap > 1);
        stops += gap > 7.25 ? 1 : 0;  // less when two nodes are down at a time
      }
      last = event.time;
    }
  }
  CHECK(stops > 10);
}

TEST_CASE("a joining node has the model of that time: its first update is as stale as the updates applied since") {
  Scenario growing = scenario(4, 200, "1");
  growing.churn.joins = 0.05;
  const SimResult result = run(growing, kAsp);
  REQUIRE(result.joined > 3);
  // In one second each of the other nodes completes one step, or two where seconds do not begin together.
  CHECK(result.staleness.largest <= 2 * (4 + result.joined));
}

TEST_CASE("a random straggler stays slow, and a changing straggler changes") {
  Scenario slow = scenario(100, 200, "1");
  slow.stragglers = {0.2, 4, 0};
  const SimResult fixed = run(slow, kAsp);
  CHECK(std::count(fixed.steps.begin(), fixed.steps.end(), 50) +
            std::count(fixed.steps.begin(), fixed.steps.end(), 51) ==
        20);
  CHECK(fixed.max_step >= 200);
  slow.stragglers.change = 5;
  const SimResult changing = run(slow, kAsp);
  CHECK(changing.min_step > 75);
  CHECK(changing.max_step < 200);
}
