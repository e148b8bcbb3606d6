// The server's loop over thousands of simulated schedules: the bounds of barriers, the visible updates, and the end of
// every run. The parameter is a history: worker j adds 1 to slot j in each step, so a task shows the updates that it
// sees.

#include "tests/host/engine/param/param_sim.hpp"
#include "tests/test.hpp"

namespace {

constexpr size_t kSlots = 96;
constexpr int kKeys = 4;  // copies of the history, on different shards

ParamKey history_key(int i) { return key_of(("history" + std::to_string(i)).c_str()); }

std::vector<double> unit(NodeId id) {
  std::vector<double> out(kSlots);
  out.at(id) = 1;
  return out;
}

// Makes the simulation train the history and checks each task against the staleness (-1: own updates only).
void use_history(ParamSim& sim, int staleness) {
  for (int i = 0; i < kKeys; ++i) sim.set(history_key(i), tensor_of(std::vector<double>(kSlots)));
  sim.schedule = [](const std::vector<NodeId>& ids) {
    Tasks tasks;
    for (const NodeId id : ids) {
      for (int i = 0; i < kKeys; ++i) tasks[id].push_back({history_key(i), ParamFetch{}, 0});
    }
    return tasks;
  };
  sim.work = [&sim, staleness](ParamSim::Worker& worker, const ParamWorker::Task& task) {
    Entries out;
    REQUIRE(task.entries.size() == kKeys);
    for (const ParamEntry& entry : task.entries) {
      const std::vector<double> seen = values_of<double>(std::get<ParamTensor>(entry.value));
      REQUIRE(seen.at(worker.id) == double(worker.pushes));
      for (const auto& [id, other] : sim.workers()) {
        if (staleness < 0 || !other.alive || !other.first_clock) continue;
        const double must = double(task.step) - staleness - double(*other.first_clock);
        REQUIRE(seen.at(id) >= must);
        if (staleness == 0) REQUIRE(seen.at(id) == std::max(must, 0.0));
      }
      out.push_back({entry.key, tensor_of(unit(worker.id)), 0});
    }
    return out;
  };
}

void check_end(ParamSim& sim, bool bsp) {
  INFO((sim.error ? sim.error->message : std::string()));
  REQUIRE_FALSE(sim.error);
  REQUIRE(sim.summary);
  uint64_t pushes = 0;
  for (const auto& [id, worker] : sim.workers()) {
    pushes += worker.pushes;
    if (worker.alive) REQUIRE(worker.summary == sim.summary);
  }
  REQUIRE(sim.summary->updates <= pushes);
  // Each merged push is merged on all shards, and nothing else is. (Without a barrier for merging, a worker that fails
  // while it sends may leave a part of its last push.)
  double total = 0;
  for (int i = 0; i < kKeys; ++i) {
    const auto values = values_of<double>(std::get<ParamTensor>(sim.value(history_key(i))));
    const auto first = values_of<double>(std::get<ParamTensor>(sim.value(history_key(0))));
    for (const auto& [id, worker] : sim.workers()) {
      const double torn = worker.alive || bsp ? 0 : 1;
      REQUIRE(std::abs(values.at(id) - first.at(id)) <= torn);
      if (worker.alive) REQUIRE(values.at(id) == double(worker.pushes));
      total += i == 0 ? values.at(id) : 0;
    }
  }
  REQUIRE(sim.settle());
  const auto dead = std::count_if(sim.workers().begin(), sim.workers().end(), [](auto& w) { return !w.second.alive; });
  REQUIRE(std::abs(total - double(sim.summary->updates)) <= (bsp ? 0 : double(dead)));
}

struct RuleCase {
  const char* name;
  int staleness;  // of visibility; -1: no promise
  std::function<std::unique_ptr<BarrierRule>(uint64_t seed)> make;
};

const std::vector<RuleCase>& rule_cases() {
  static const std::vector<RuleCase> cases = {
      {"bsp", 0, [](uint64_t) { return native_bsp(); }},
      {"ssp(1)", 1, [](uint64_t) { return native_ssp(1); }},
      {"ssp(4)", 4, [](uint64_t) { return native_ssp(4); }},
      {"asp", -1, [](uint64_t) { return native_asp(); }},
      {"pbsp(2)", -1, [](uint64_t seed) { return native_pbsp(2, {}, seed); }},
      {"pbsp(2) sticky", -1, [](uint64_t seed) { return native_pbsp(2, {Resample::Kind::sticky}, seed); }},
      {"pssp(2,1) poll", -1,
       [](uint64_t seed) {
         return native_pssp(2, 1, {Resample::Kind::poll, 0.3}, seed);
       }},
  };
  return cases;
}

// One run. `spread` is the largest allowed distance between counted workers, or -1.
void one_run(const RuleCase& rule, uint64_t seed, uint32_t workers, uint32_t shards, bool trouble) {
  CAPTURE(rule.name, seed, workers, shards, trouble);
  ParamSim sim({.seed = seed,
                .shards = shards,
                .workers = workers,
                .deaths = trouble ? 1 + workers / 3 : 0,
                .joins = trouble ? 2U : 0U,
                .busy_seconds = 10,
                .rule = [&] { return rule.make(seed); }});
  use_history(sim, rule.staleness);
  const int spread = rule.staleness < 0 ? -1 : rule.staleness + 1;
  sim.after_event = [&](ParamSim& s) {
    const Progress& progress = s.server().controller()->progress();
    if (spread >= 0 && progress.size() > 0) REQUIRE(progress.max() - progress.min() <= spread);
  };
  sim.stop = [&](const StopContext& c) { return c.step >= 4 || c.updates >= 6 * workers; };
  REQUIRE(sim.run());
  check_end(sim, rule.staleness == 0);
}

}  // namespace

TEST_CASE("every rule keeps its bound and its visibility, and every run ends, on one and on three shards") {
  for (const RuleCase& rule : rule_cases()) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      for (const uint32_t workers : {1U, 2U, 3U, 5U, 8U}) {
        one_run(rule, seed, workers, seed % 2 == 0 ? 1 : 3, false);
      }
    }
  }
}

TEST_CASE("the same with workers that fail and join at any moment") {
  for (const RuleCase& rule : rule_cases()) {
    for (uint64_t seed = 1000; seed <= 1040; ++seed) {
      for (const uint32_t workers : {2U, 3U, 5U, 8U}) one_run(rule, seed, workers, seed % 2 == 0 ? 1 : 3, true);
    }
  }
}

TEST_CASE("64 workers keep their bounds too") {
  for (const RuleCase& rule : rule_cases()) {
    for (uint64_t seed = 1; seed <= 3; ++seed) one_run(rule, seed, 64, 2, seed == 3);
  }
}
