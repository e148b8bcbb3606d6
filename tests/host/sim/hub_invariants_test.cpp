// Invariants of every simulation around a hub, whatever the scenario.

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

using EventKind = SimTraceEvent::Kind;

const NativeRule kRules[] = {
    kBsp, ssp(2), kAsp, pbsp(3), pssp(2, 1), pbsp(2, kSticky), pbsp(2, {Resample::Kind::poll, 0.3})};

/// Runs every rule on random scenarios, with a trace.
template <class Check>
void everywhere(uint64_t seed, int scenarios, Check check) {
  Rng rng(seed);
  for (int i = 0; i < scenarios; ++i) {
    Scenario scenario = random_scenario(rng, {});
    scenario.trace = true;
    for (const NativeRule& rule : kRules) {
      INFO(describe(scenario) << ", beta " << rule.beta << ", staleness " << rule.staleness);
      check(scenario, rule, run(scenario, rule));
    }
  }
}

uint64_t count(const SimResult& result, EventKind kind) {
  return static_cast<uint64_t>(std::count_if(result.trace.begin(), result.trace.end(),
                                             [kind](const SimTraceEvent& e) { return e.kind == kind; }));
}

/// Node-seconds from joining to leaving.
double lifetimes(const SimResult& result, double end) {
  double sum = 0;
  for (const SimTraceEvent& event : result.trace) {
    if (event.kind == EventKind::join) sum += end - event.time;
    if (event.kind == EventKind::leave) sum -= end - event.time;
  }
  return sum;
}

/// Durations of the completed steps, by node and step number since the node joined.
std::map<std::pair<uint32_t, int>, double> work_times(const SimResult& result) {
  std::map<std::pair<uint32_t, int>, double> out;
  std::map<uint32_t, int> number;
  std::map<uint32_t, double> started;
  for (const SimTraceEvent& event : result.trace) {
    if (event.kind == EventKind::start) started[event.node] = event.time;
    if (event.kind == EventKind::finish) out[{event.node, number[event.node]++}] = event.time - started[event.node];
  }
  return out;
}

}  // namespace

TEST_CASE("working, waiting, travelling and down time add up to the lives of the nodes") {
  everywhere(1, 60, [](const Scenario& scenario, const NativeRule&, const SimResult& result) {
    const double sum = result.busy + result.waiting + result.network + result.down;
    CHECK(sum == Approx(lifetimes(result, scenario.seconds)).margin(1e-9));
    for (const double part : {result.busy, result.waiting, result.network, result.down}) CHECK(part >= 0);
  });
}

TEST_CASE("updates, members and figures over the nodes equal those of the trace") {
  everywhere(2, 60, [](const Scenario& scenario, const NativeRule&, const SimResult& result) {
    CHECK(result.updates == count(result, EventKind::apply));
    CHECK(result.updates == result.staleness.count);
    CHECK(scenario.nodes + result.joined == count(result, EventKind::join));
    CHECK(count(result, EventKind::join) - count(result, EventKind::leave) == result.ids.size());
    CHECK(result.steps.size() == result.ids.size());
    CHECK(std::set<uint32_t>(result.ids.begin(), result.ids.end()).size() == result.ids.size());
    MomentSums steps;
    for (const int32_t step : result.steps) steps.add(step);
    if (result.steps.empty()) return;
    CHECK(result.mean_step == Approx(steps.moments().mean).margin(1e-12));
    CHECK(result.sd_step == Approx(steps.moments().sd).margin(1e-9));
    CHECK(result.max_step == *std::max_element(result.steps.begin(), result.steps.end()));
    CHECK(result.min_step == *std::min_element(result.steps.begin(), result.steps.end()));
  });
}

TEST_CASE("in the trace time never decreases, and each node is released, starts, finishes and is counted in turn") {
  everywhere(3, 60, [](const Scenario&, const NativeRule&, const SimResult& result) {
    std::map<uint32_t, SimTraceEvent> last;
    double time = 0;
    for (const SimTraceEvent& event : result.trace) {
      REQUIRE(event.time >= time);
      time = event.time;
      const auto before = last.find(event.node);
      if (before == last.end()) {
        REQUIRE(event.kind == EventKind::join);
      } else {
        const EventKind kind = before->second.kind;
        const int32_t step = before->second.step;
        switch (event.kind) {
          case EventKind::join: FAIL("twice"); break;
          case EventKind::leave: REQUIRE(kind != EventKind::leave); break;
          case EventKind::release:
            REQUIRE((kind == EventKind::apply || kind == EventKind::join));
            REQUIRE(event.step == step);
            break;
          case EventKind::start:
            REQUIRE(kind == EventKind::release);
            REQUIRE(event.step == step);
            break;
          case EventKind::finish:
            REQUIRE(kind == EventKind::start);
            REQUIRE(event.step == step);
            break;
          case EventKind::apply:
            REQUIRE(kind == EventKind::finish);
            REQUIRE(event.step == step + 1);
            break;
        }
      }
      last[event.node] = event;
    }
  });
}

TEST_CASE("the steps at the end equal those of the trace: a clock, plus one while a step is in progress") {
  everywhere(4, 60, [](const Scenario&, const NativeRule&, const SimResult& result) {
    std::map<uint32_t, int32_t> steps;
    for (const SimTraceEvent& event : result.trace) {
      steps[event.node] = event.step + (event.kind == EventKind::start || event.kind == EventKind::finish ? 1 : 0);
    }
    for (size_t i = 0; i < result.ids.size(); ++i) REQUIRE(result.steps[i] == steps[result.ids[i]]);
  });
}

TEST_CASE("under bsp and ssp no node starts a step further ahead of the slowest than allowed") {
  Rng rng(5);
  for (int i = 0; i < 40; ++i) {
    Scenario scenario = random_scenario(rng, {});
    scenario.trace = true;
    INFO(describe(scenario));
    for (const int32_t staleness : {0, 1, 3}) {
      std::map<uint32_t, int32_t> clocks;
      for (const SimTraceEvent& event : run(scenario, ssp(staleness)).trace) {
        if (event.kind == EventKind::leave) {
          clocks.erase(event.node);
          continue;
        }
        clocks[event.node] = event.step;
        // A node may join while the model is in flight, but never below the minimum clock.
        if (event.kind != EventKind::start) continue;
        for (const auto& [node, step] : clocks) REQUIRE(event.step <= step + staleness);
      }
    }
  }
}

TEST_CASE("a step takes as long under one barrier as under any other") {
  Rng rng(6);
  for (int i = 0; i < 40; ++i) {
    Scenario scenario = random_scenario(rng, {.leaves = false, .joins = false});
    scenario.stragglers.change = 0;  // otherwise stragglers depend on the time
    scenario.trace = true;
    INFO(describe(scenario));
    const auto free = work_times(run(scenario, kAsp));
    for (const NativeRule& rule : kRules) {
      for (const auto& [step, seconds] : work_times(run(scenario, rule))) {
        REQUIRE(free.count(step) == 1);  // asp is never behind
        REQUIRE(seconds == Approx(free.at(step)).margin(1e-9));
      }
    }
  }
}

TEST_CASE("bsp with steps of one second makes a step a second, without waiting") {
  const SimResult result = run(scenario(7, 10.5, "1"), kBsp);
  CHECK(result.mean_step == 11);
  CHECK(result.sd_step == 0);
  CHECK(result.updates == 70);
  CHECK(result.waiting == 0);
  CHECK(result.busy == 73.5);
  CHECK(result.messages == 140);
  CHECK(result.ended == 10.5);
  CHECK(result.last_progress == 10);
  CHECK(result.progress.size() == 101);
  CHECK(result.progress.back().mean == 10);
}

TEST_CASE("a single node never waits, whatever the barrier") {
  for (const NativeRule& rule : kRules) {
    const SimResult result = run(scenario(1, 50, "exp(1)"), rule);
    CHECK(result.waiting == 0);
    CHECK(result.busy == Approx(50));
    CHECK(text(result, false) == text(run(scenario(1, 50, "exp(1)"), kAsp), false));
  }
}

TEST_CASE("more freedom means more steps: bsp, pbsp, pssp, asp") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Scenario here = scenario(50, 60, "0.5+exp(1)", seed);
    double last = 0;
    for (const NativeRule& rule : {kBsp, pbsp(20), pbsp(5), pssp(5, 3), kAsp}) {
      const double mean = run(here, rule).mean_step;
      CHECK(mean > last);
      last = mean;
    }
  }
}

TEST_CASE("the progress points are even in time, and their mean is between the minimum and maximum clock") {
  everywhere(7, 20, [](const Scenario& scenario, const NativeRule&, const SimResult& result) {
    double before = -1;
    for (const ProgressPoint& point : result.progress) {
      REQUIRE(point.time > before);
      before = point.time;
      const double index = point.time / scenario.seconds * 100;
      REQUIRE(std::abs(index - std::round(index)) < 1e-9);
      REQUIRE(point.min <= point.mean);
      REQUIRE(point.mean <= point.max);
    }
    if (scenario.churn.leaves == 0 && scenario.failures.mean_life == 0) REQUIRE(result.progress.size() == 101);
  });
}
