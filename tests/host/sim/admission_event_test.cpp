// EventAdmission makes no draws, so its numbers differ from the numbers of the resampling rule. These tests compare its
// distribution with the hypergeometric formula and with the resampling rule.
#include "host/sim/admission_event.hpp"

#include "tests/host/sim/sim_world.hpp"
#include "tests/test.hpp"

namespace {

double binomial(int n, int k) {
  double out = k > n ? 0 : 1;
  for (int i = 0; i < k && out > 0; ++i) out = out * (n - i) / (i + 1);
  return out;
}

struct Trials {
  double waiters = 0;
  double passes = 0;
  double pairs = 0;         // of waiters
  double passed_pairs = 0;  // pairs that both passed
};

/// Nodes 0 .. n-1 complete their first step one after another and request the next. Returns the results of the trials
/// by the number of completed nodes. Makes `idle` decisions after each, without an event between them.
std::vector<Trials> first_steps(int n, uint32_t beta, int rounds, int idle) {
  std::vector<Trials> out(static_cast<size_t>(n) + 1);
  for (int round = 0; round < rounds; ++round) {
    Clocks clocks;
    EventAdmission admission(clocks, beta, 0, static_cast<uint64_t>(round));
    for (int i = 0; i < n; ++i) admission.joined(clocks.add(0));
    std::vector<NodeId> passed;
    for (int i = 0; i < n; ++i) {
      clocks.advance(static_cast<NodeId>(i));
      admission.completed(static_cast<NodeId>(i), i);
      passed.clear();
      const double waiters = admission.waiting();
      REQUIRE(admission.decide(i, passed).ok());
      const auto passes = static_cast<double>(passed.size());
      Trials& trials = out[static_cast<size_t>(i) + 1];
      trials.waiters += waiters;
      trials.passes += passes;
      trials.pairs += waiters * (waiters - 1);
      trials.passed_pairs += passes * (passes - 1);
      for (int k = 0; k < idle; ++k) REQUIRE(admission.decide(i, passed).ok());
      REQUIRE(static_cast<double>(passed.size()) == passes);
    }
  }
  return out;
}

void check_trials(int n, int beta, int idle) {
  const std::vector<Trials> trials = first_steps(n, static_cast<uint32_t>(beta), 20000, idle);
  for (int done = 1; done <= n; ++done) {
    const Trials& t = trials[static_cast<size_t>(done)];
    const double p = binomial(done, beta) / binomial(n, beta);
    INFO(n << " nodes, samples of " << beta << ", " << done << " have completed, p = " << p);
    if (t.waiters == 0) continue;
    CHECK(std::abs(t.passes / t.waiters - p) <= 4.5 * std::sqrt(p * (1 - p) / t.waiters));
    // Trials are independent, so pairs pass with the product of the probabilities. Pairs of one round are correlated;
    // the factor allows for the correlation.
    if (t.pairs > 0) CHECK(std::abs(t.passed_pairs / t.pairs - p * p) <= 4.5 * 3 * std::sqrt(p * p / t.pairs));
  }
}

/// A mean and its standard error.
struct Sample {
  MomentSums sums;
  double mean() const { return sums.moments().mean; }
  double variance_of_mean() const {
    const Moments m = sums.moments();
    return m.sd * m.sd / static_cast<double>(m.count - 1);
  }
};

using Measure = std::function<double(const SimResult&)>;

/// Runs both forms over many seeds and compares the means of the measures within their standard errors.
void same_distribution(Scenario scenario, const NativeRule& rule, uint64_t seeds) {
  const std::pair<const char*, Measure> measures[] = {
      {"mean step", [](const SimResult& r) { return r.mean_step; }},
      {"sd of steps", [](const SimResult& r) { return r.sd_step; }},
      {"square of the mean step", [](const SimResult& r) { return r.mean_step * r.mean_step; }},
      {"waiting", [](const SimResult& r) { return r.waiting; }},
      {"mean staleness", [](const SimResult& r) { return r.staleness.mean; }},
      {"largest staleness", [](const SimResult& r) { return r.staleness.largest; }},
      {"checks", [](const SimResult& r) { return static_cast<double>(r.checks); }},
  };
  constexpr size_t kMeasures = std::size(measures);
  Sample fast[kMeasures];
  Sample general[kMeasures];
  for (uint64_t i = 0; i < seeds; ++i) {
    scenario.seed = i;
    const SimResult a = run(scenario, rule);
    scenario.seed = i + seeds;
    const SimResult b = run_general(scenario, rule);
    for (size_t k = 0; k < kMeasures; ++k) {
      fast[k].sums.add(measures[k].second(a));
      general[k].sums.add(measures[k].second(b));
    }
  }
  for (size_t k = 0; k < kMeasures; ++k) {
    const double error = std::sqrt(fast[k].variance_of_mean() + general[k].variance_of_mean());
    INFO(describe(scenario) << ": " << measures[k].first << " " << fast[k].mean() << " and " << general[k].mean()
                            << ", standard error " << error);
    CHECK(std::abs(fast[k].mean() - general[k].mean()) <= 4.5 * error);
  }
}

}  // namespace

TEST_CASE("at each event a waiter passes with the hypergeometric probability, independently of the others") {
  for (const auto& [n, beta] : {std::pair(2, 1), {6, 1}, {6, 2}, {10, 3}, {12, 6}, {9, 9}}) check_trials(n, beta, 0);
}

TEST_CASE("a decision without an event makes no trial") { check_trials(8, 2, 3); }

TEST_CASE("probabilities far below one in a million remain exact") {
  // The sample of 20 of 100 must be among the 40 completed nodes: probability 2.6e-10 for each trial. So none of 39
  // passes in 1000 events without a completed step, and all pass when all have completed.
  Clocks clocks;
  EventAdmission admission(clocks, 20, 0, 1);
  for (int i = 0; i < 100; ++i) admission.joined(clocks.add(0));
  std::vector<NodeId> passed;
  for (NodeId id = 0; id < 40; ++id) {
    clocks.advance(id);
    admission.completed(id, 0);
    REQUIRE(admission.decide(0, passed).ok());
  }
  CHECK(passed.empty());
  for (NodeId id = 40; id < 100; ++id) {
    clocks.advance(id);
    admission.completed(id, 1);
    REQUIRE(admission.decide(1, passed).ok());
  }
  CHECK(passed.size() == 100);
  CHECK(admission.waiting() == 0);
}

TEST_CASE("pbsp and pssp at each event have the distribution of the resampling rule") {
  same_distribution(scenario(20, 30, "1+exp(1)"), pbsp(3), 200);
  same_distribution(scenario(20, 30, "exp(1)"), pssp(5, 2), 200);
  same_distribution(scenario(5, 40, "1"), pbsp(1), 200);
}

TEST_CASE("with delayed messages only completions count as events, as for the resampling rule") {
  Scenario late = scenario(12, 30, "0.5+exp(1)");
  late.delay = dist("exp(0.3)");
  late.loss = 0.2;
  same_distribution(late, pbsp(4), 200);
  Scenario server = scenario(12, 30, "0.5+exp(1)");
  server.topology.kind = Topology::Kind::server;
  server.topology.shards = 4;
  server.topology.service = dist("exp(0.02)");
  same_distribution(server, pssp(5, 1), 200);
}

TEST_CASE("with nodes that join, leave and crash the distribution equals that of the resampling rule") {
  Scenario churn = scenario(12, 30, "0.5+exp(1)");
  churn.churn = {0.2, 0.2};
  churn.failures = {40, 3, 2};
  same_distribution(churn, pbsp(4), 300);
}
