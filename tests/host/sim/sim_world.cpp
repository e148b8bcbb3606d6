#include "tests/host/sim/sim_world.hpp"

#include <cstdio>

#include "tests/host/barrier/progress_rules.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

Distribution dist(const std::string& text) {
  auto parsed = required(Distribution::parse(text));
  return *parsed;
}

Scenario scenario(uint32_t nodes, double seconds, const std::string& work, uint64_t seed) {
  Scenario out;
  out.nodes = nodes;
  out.seconds = seconds;
  out.work = dist(work);
  out.seed = seed;
  return out;
}

namespace {

SimResult finished(const Scenario& scenario, const MakeAdmission& admission) {
  const Status sane = scenario.check();
  INFO((sane.ok() ? std::string() : sane.error().message));
  REQUIRE(sane.ok());
  auto result = simulate_hub(scenario, admission, nullptr);
  INFO((result.ok() ? std::string() : result.error().message));
  REQUIRE(result.ok());
  return std::move(*result);
}

}  // namespace

SimResult run(const Scenario& scenario, const NativeRule& rule) {
  const uint64_t seed = sim_seed(scenario.seed, SimStream::admission);
  return finished(scenario, [&](const Clocks& clocks) { return make_admission(rule, clocks, seed); });
}

SimResult run_general(const Scenario& scenario, const NativeRule& rule) {
  const uint64_t seed = sim_seed(scenario.seed, SimStream::admission);
  std::unique_ptr<BarrierRule> general;
  if (rule.staleness == NativeRule::kFree) {
    general = test::native_asp();
  } else if (rule.beta == NativeRule::kAll) {
    general = test::native_ssp(rule.staleness);
  } else {
    general = test::native_pssp(rule.beta, rule.staleness, rule.resample, seed);
  }
  return finished(scenario, [&](const Clocks& clocks) { return std::make_unique<RuleAdmission>(clocks, *general); });
}

// --- random scenarios ---

namespace {

template <class T>
T one_of(Rng& rng, std::initializer_list<T> values) {
  return values.begin()[rng.below(values.size())];
}

bool sometimes(Rng& rng) { return rng.below(3) == 0; }

}  // namespace

Scenario random_scenario(Rng& rng, const ScenarioFeatures& features) {
  Scenario out;
  out.nodes = one_of<uint32_t>(rng, {1, 2, 3, 5, 8, 64});
  out.seconds = one_of(rng, {0.5, 7.0, 30.0});
  out.work = dist(one_of<const char*>(rng, {features.constant ? "1" : "uniform(0.5,1)", "exp(1)", "gamma(2,0.5)",
                                            "pareto(1.5,0.3)", "lognormal(-0.5,1)", "0.5+exp(0.5)"}));
  out.seed = rng.next();
  if (sometimes(rng)) out.speed = dist("uniform(0.5,2)");
  if (sometimes(rng)) out.stragglers = {0.3, 4, one_of(rng, {0.0, 3.0})};
  if (features.joins && sometimes(rng)) out.churn.joins = one_of(rng, {0.2, 2.0});
  if (features.leaves && sometimes(rng)) out.churn.leaves = one_of(rng, {0.1, 1.0});
  if (features.leaves && features.joins && sometimes(rng)) out.failures = {20, one_of(rng, {0.0, 1.0, 5.0}), 2.5};
  if (!features.network) return out;
  if (sometimes(rng)) out.delay = dist(one_of<const char*>(rng, {"0.1", "exp(0.05)"}));
  if (sometimes(rng)) out.loss = 0.2;
  if (sometimes(rng)) {
    out.topology.kind = Topology::Kind::server;
    out.topology.shards = one_of<uint32_t>(rng, {1, 3});
    out.topology.service = dist(one_of<const char*>(rng, {"0", "0.01", "exp(0.02)"}));
    if (sometimes(rng)) out.topology.bandwidth = 1000, out.topology.bytes = 40;
  }
  return out;
}

std::string describe(const Scenario& s) {
  char line[512];
  std::snprintf(line, sizeof line,
                "nodes %u, %g s, work %s, speed %s, stragglers %g:%gx@%g, churn %g:%g, failures %g:%g, delay %s, loss "
                "%g, %s of %u, service %s, bandwidth %g, seed %llu",
                s.nodes, s.seconds, s.work.text().c_str(), s.speed.text().c_str(), s.stragglers.share,
                s.stragglers.factor, s.stragglers.change, s.churn.joins, s.churn.leaves, s.failures.mean_life,
                s.failures.repair, s.delay.text().c_str(), s.loss,
                s.topology.kind == Topology::Kind::server ? "server" : "oracle", s.topology.shards,
                s.topology.service.text().c_str(), s.topology.bandwidth, static_cast<unsigned long long>(s.seed));
  return line;
}

// --- results ---

namespace {

class Lines {
 public:
  void add(const char* name, double value) {
    char line[64];
    std::snprintf(line, sizeof line, " %.17g", value);
    out += name + std::string(line) + "\n";
  }
  void add(const char* name, uint64_t value) { out += name + (" " + std::to_string(value)) + "\n"; }
  template <class T>
  void add(const char* name, const std::vector<T>& values) {
    add(name, uint64_t{values.size()});
    for (const T& value : values) add("", static_cast<double>(value));
  }
  void add(const char* name, const Moments& m) {
    add(name, m.count);
    for (const double value : {m.mean, m.sd, m.skew, m.kurtosis, m.largest}) add("", value);
  }

  std::string out;
};

}  // namespace

std::string text(const SimResult& r, bool checks) {
  Lines lines;
  lines.add("ids", r.ids);
  lines.add("steps", r.steps);
  lines.add("mean, sd", std::vector<double>{r.mean_step, r.sd_step});
  lines.add("min, max", std::vector<int32_t>{r.min_step, r.max_step});
  lines.add("updates", r.updates);
  if (checks) lines.add("checks", r.checks);
  lines.add("messages, lost", std::vector<uint64_t>{r.messages, r.lost});
  lines.add("joined, departed, crashed", std::vector<uint32_t>{r.joined, r.departed, r.crashed});
  lines.add("busy, waiting, network, down", std::vector<double>{r.busy, r.waiting, r.network, r.down});
  lines.add("busy by node", r.busy_by_node);
  lines.add("staleness", r.staleness);
  lines.add("progress inconsistency", r.progress_inconsistency);
  lines.add("sequence inconsistency", r.sequence_inconsistency);
  lines.add("ended, last progress", std::vector<double>{r.ended, r.last_progress});
  for (const ProgressPoint& p : r.progress) {
    lines.add("point", std::vector<double>{p.time, p.mean, double(p.min), double(p.max)});
  }
  for (const SimTraceEvent& e : r.trace) {
    lines.add("trace", std::vector<double>{double(int(e.kind)), double(e.node), double(e.step), e.time});
  }
  return lines.out;
}

std::string difference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  size_t at = 0;
  while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
  const auto around = [&](const std::string& all) { return all.substr(at < 80 ? 0 : at - 80, 120); };
  return "after " + std::to_string(at) + " characters:\n" + around(a) + "\n--- and ---\n" + around(b);
}

uint64_t hash(const SimResult& result) {
  uint64_t out = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text(result)) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return out;
}

}  // namespace actorhost::test
