// The same scenario gives the same bits on every machine, whatever ran before. A change of the simulator that is meant
// to change results changes the numbers here, and the change log mentions it.
#include <cstdio>

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

Scenario everything() {
  Scenario out = scenario(40, 60, "0.2+gamma(2,0.5)", 99);
  out.speed = dist("lognormal(0,0.3)");
  out.stragglers = {0.1, 5, 7};
  out.delay = dist("exp(0.05)");
  out.loss = 0.1;
  out.churn = {0.1, 0.1};
  out.failures = {100, 5, 2.5};
  out.topology.kind = Topology::Kind::server;
  out.topology.shards = 3;
  out.topology.service = dist("uniform(0,0.01)");
  out.topology.bandwidth = 1e6;
  out.topology.bytes = 4000;
  out.trace = true;
  return out;
}

struct Pinned {
  const char* name;
  Scenario scenario;
  NativeRule rule;
  uint64_t hash;
};

std::vector<Pinned> pinned() {
  return {
      {"bsp", scenario(50, 100, "1+exp(1)", 1), kBsp, 0xd8114d45d4a524a9ULL},
      {"ssp", scenario(50, 100, "lognormal(0,1)", 2), ssp(3), 0xcb733a0285dec526ULL},
      {"asp", scenario(50, 100, "pareto(1.5,0.3)", 3), kAsp, 0x2d0a11382951803aULL},
      {"pbsp at each event", scenario(50, 100, "exp(1)", 4), pbsp(5), 0xa755b34a379abc12ULL},
      {"pssp sticky", scenario(50, 100, "gamma(0.5,2)", 5), pssp(5, 2, kSticky), 0x4829b004682645fbULL},
      {"pbsp that polls", scenario(50, 100, "uniform(0.5,2)", 6), pbsp(5, {Resample::Kind::poll, 0.25}),
       0xb0271a01eefb84bfULL},
      {"everything, bsp", everything(), kBsp, 0xe20d894344c578ffULL},
      {"everything, pssp at each event", everything(), pssp(4, 1), 0xc0b3c0a9101824aaULL},
      {"everything, pbsp sticky", everything(), pbsp(4, kSticky), 0xa1b122d13c1bc95cULL},
  };
}

}  // namespace

TEST_CASE("results have the pinned bits") {
  for (const Pinned& pin : pinned()) {
    char got[32];
    std::snprintf(got, sizeof got, "%#llx", static_cast<unsigned long long>(hash(run(pin.scenario, pin.rule))));
    char expected[32];
    std::snprintf(expected, sizeof expected, "%#llx", static_cast<unsigned long long>(pin.hash));
    INFO(pin.name);
    CHECK(std::string(got) == expected);
  }
}

TEST_CASE("results depend neither on earlier runs nor on the trace") {
  std::vector<std::string> first;
  for (const Pinned& pin : pinned()) first.push_back(text(run(pin.scenario, pin.rule)));
  const std::vector<Pinned> pins = pinned();
  for (size_t i = pins.size(); i-- > 0;) {
    CHECK(difference(text(run(pins[i].scenario, pins[i].rule)), first[i]) == "");
    Scenario silent = pins[i].scenario;
    silent.trace = !silent.trace;
    SimResult traced = run(pins[i].scenario, pins[i].rule);
    SimResult other = run(silent, pins[i].rule);
    traced.trace.clear();
    other.trace.clear();
    CHECK(difference(text(other), text(traced)) == "");
  }
}

TEST_CASE("another seed gives another result") {
  for (Pinned pin : pinned()) {
    const uint64_t before = hash(run(pin.scenario, pin.rule));
    ++pin.scenario.seed;
    INFO(pin.name);
    CHECK(hash(run(pin.scenario, pin.rule)) != before);
  }
}
