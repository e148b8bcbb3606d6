#include "host/sim/measures.hpp"

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

Moments direct(const std::vector<double>& values, double scale) {
  Moments out{.count = values.size()};
  const auto n = static_cast<double>(values.size());
  for (const double v : values) out.mean += v / scale / n;
  double m2 = 0;
  double m3 = 0;
  double m4 = 0;
  out.largest = values.front() / scale;
  for (const double v : values) {
    const double d = v / scale - out.mean;
    m2 += d * d / n;
    m3 += d * d * d / n;
    m4 += d * d * d * d / n;
    out.largest = std::max(out.largest, v / scale);
  }
  out.sd = std::sqrt(m2);
  out.skew = m2 > 0 ? m3 / (m2 * out.sd) : 0;
  out.kurtosis = m2 > 0 ? m4 / (m2 * m2) : 0;
  return out;
}

Moments summed(const std::vector<double>& values, double scale = 1) {
  MomentSums sums;
  for (const double v : values) sums.add(v);
  return sums.moments(scale);
}

void same(const Moments& a, const Moments& b, double precision) {
  CHECK(a.count == b.count);
  CHECK(a.mean == Approx(b.mean).epsilon(precision));
  CHECK(a.sd == Approx(b.sd).epsilon(precision));
  CHECK(a.skew == Approx(b.skew).epsilon(precision).margin(precision));
  CHECK(a.kurtosis == Approx(b.kurtosis).epsilon(precision));
  CHECK(a.largest == b.largest);
}

SimResult replayed(const Replay& replay, double seconds, const NativeRule& rule) {
  Scenario recorded = scenario(static_cast<uint32_t>(replay.nodes.size()), seconds, "0");
  recorded.replay = &replay;
  return run(recorded, rule);
}

/// The sequence inconsistencies of a traced run, by sets of (node, step): at the first pull and at each (n + 1)-th pull
/// from there.
std::vector<double> sequence_inconsistencies(const SimResult& result, uint32_t n) {
  using Updates = std::set<std::pair<int32_t, uint32_t>>;
  std::vector<double> out;
  Updates applied;
  uint64_t pulls = 0;
  for (const SimTraceEvent& event : result.trace) {
    if (event.kind == SimTraceEvent::Kind::apply) applied.insert({event.step - 1, event.node});
    if (event.kind != SimTraceEvent::Kind::start || pulls++ % (n + 1) != 0) continue;
    Updates serial;
    for (int32_t step = 0; step <= event.step; ++step) {
      for (uint32_t node = 0; node < n; ++node) {
        if (step < event.step || node < event.node) serial.insert({step, node});
      }
    }
    size_t both = 0;
    for (const auto& update : applied) both += serial.count(update);
    out.push_back(static_cast<double>(applied.size() + serial.size() - 2 * both) / n);
  }
  return out;
}

}  // namespace

TEST_CASE("the moments of sums equal those of the values") {
  Rng rng(1);
  for (const double offset : {0.0, 5.0, -300.0, 1e5}) {
    std::vector<double> values;
    for (int i = 0; i < 5000; ++i) values.push_back(offset + rng.exponential());
    INFO("offset " << offset);
    same(summed(values), direct(values, 1), 1e-9);
    same(summed(values, 40), direct(values, 40), 1e-9);
  }
}

TEST_CASE("the moments of an exponential and a normal sample are near the known moments") {
  Rng rng(2);
  MomentSums exponential;
  MomentSums normal;
  for (int i = 0; i < 200000; ++i) {
    exponential.add(rng.exponential(3));
    normal.add(rng.normal());
  }
  CHECK(exponential.moments().mean == Approx(3).epsilon(0.01));
  CHECK(exponential.moments().sd == Approx(3).epsilon(0.02));
  CHECK(exponential.moments().skew == Approx(2).epsilon(0.05));
  CHECK(exponential.moments().kurtosis == Approx(9).epsilon(0.1));
  CHECK(std::abs(normal.moments().skew) < 0.05);
  CHECK(normal.moments().kurtosis == Approx(3).epsilon(0.05));
}

TEST_CASE("values without spread have neither skew nor kurtosis, and no values nothing at all") {
  CHECK(MomentSums().moments().count == 0);
  CHECK(MomentSums().moments().mean == 0);
  for (const double value : {0.0, 0.1, -7.3, 1e9}) {
    const Moments moments = summed(std::vector<double>(1000, value));
    CHECK(moments.mean == value);
    CHECK(moments.sd == 0);
    CHECK(moments.skew == 0);
    CHECK(moments.kurtosis == 0);
    CHECK(moments.largest == value);
  }
}

TEST_CASE("under bsp the k-th update of a round misses the k before it") {
  const SimResult result = run(scenario(4, 10.5, "1"), kBsp);
  std::vector<double> missed;
  for (int i = 0; i < 40; ++i) missed.push_back(i % 4);
  same(result.staleness, direct(missed, 1), 1e-9);
}

TEST_CASE("the staleness of two nodes without a barrier, worked out by hand") {
  // Node 0 completes at 1, 2, 3, 4, 5 and node 1 at 2.6 and 5.2. Node 0's third update misses one update of node 1.
  // Node 1's first update misses two, and its second misses the three since its pull.
  const SimResult result = replayed({.nodes = {{0, 0, {{1, 0}}}, {0, 0, {{2.6, 0}}}}}, 5.5, kAsp);
  const std::vector<double> missed = {0, 0, 2, 1, 0, 0, 3};
  CHECK(result.updates == 7);
  Moments expected = direct(missed, 1);
  CHECK(result.staleness.count == 7);
  same({7, result.staleness.mean, result.staleness.sd, result.staleness.skew, result.staleness.kurtosis,
        result.staleness.largest},
       expected, 1e-9);
  same(result.progress_inconsistency, direct(missed, 2), 1e-9);
}

TEST_CASE("the staleness of ssp is bounded by the updates possible between a pull and an update") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const int32_t staleness : {0, 1, 4}) {
      const SimResult result = run(scenario(20, 100, "exp(1)", seed), ssp(staleness));
      // Each of the other nodes: from s + 1 steps behind to s + 1 ahead at most.
      CHECK(result.staleness.largest <= 19 * 2 * (staleness + 1));
      CHECK(result.progress_inconsistency.mean == Approx(result.staleness.mean / 20));
    }
  }
}

TEST_CASE("sequence inconsistency is the difference between the visible updates and those of a serial run") {
  for (const uint32_t n : {1U, 2U, 3U, 7U}) {
    for (const NativeRule& rule : {kBsp, ssp(2), kAsp, pbsp(1)}) {
      Scenario small = scenario(n, 40, "exp(1)", n);
      small.trace = true;
      const SimResult result = run(small, rule);
      const std::vector<double> expected = sequence_inconsistencies(result, n);
      REQUIRE(expected.size() > 5);
      same(result.sequence_inconsistency, direct(expected, 1), 1e-9);
    }
  }
}

TEST_CASE("in lockstep node k misses the k updates that a serial run would have made before it, each k as often") {
  const SimResult result = run(scenario(4, 200.5, "1"), kBsp);
  CHECK(result.sequence_inconsistency.mean == Approx(1.5 / 4).epsilon(0.01));
  CHECK(result.sequence_inconsistency.largest == 0.75);
}

TEST_CASE("a single node is its own serial run") {
  const SimResult result = run(scenario(1, 50, "exp(1)"), kAsp);
  CHECK(result.sequence_inconsistency.count == result.updates / 2 + 1);
  CHECK(result.sequence_inconsistency.largest == 0);
  CHECK(result.staleness.largest == 0);
}
