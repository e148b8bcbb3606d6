// Merging of late and surplus pushes: dropped, buffered, averaged by step, scaled by staleness.

#include "tests/host/engine/param/param_counter.hpp"
#include "tests/test.hpp"

using kernel::OptimiserKind;

TEST_CASE("late pushes are dropped on every shard") {
  SimOptions options{.shards = 2, .workers = 4, .rule = [] { return native_asp(); }};
  options.run.merge = {MergePolicy::Kind::drop, 1, 1, 1};
  ParamSim sim(options);
  for (int i = 0; i < 4; ++i) sim.set(key_of(i), tensor_of<float>({0}));
  sim.schedule = [](const std::vector<NodeId>& ids) { return fetch_for(ids, key_of(0.0)); };
  sim.work = [](ParamSim::Worker&, const ParamWorker::Task&) {
    Entries out;
    for (int i = 0; i < 4; ++i) out.push_back({key_of(i), tensor_of<float>({1}), 0});
    return out;
  };
  sim.stop = [](const StopContext& c) { return c.updates >= 100; };
  run_without_error(sim);
  CHECK(sim.summary->dropped > 0);
  uint64_t pushes = 0;
  for (const auto& [id, worker] : sim.workers()) pushes += worker.pushes;
  CHECK(sim.summary->updates + sim.summary->dropped == pushes);
  for (int i = 0; i < 4; ++i) CHECK(floats_in(sim, key_of(i))[0] == float(sim.summary->updates));
}

TEST_CASE("a buffer of k merges the mean of k pushes at a time, and the rest at the end") {
  SimOptions options{.shards = 2, .workers = 3, .rule = [] { return native_asp(); }};
  options.run.merge = {MergePolicy::Kind::buffer, 0, 4, 1};
  CounterSim sim(options);
  std::vector<float> seen;
  sim.work = [&](ParamSim::Worker&, const ParamWorker::Task& task) {
    seen.push_back(values_of(std::get<ParamTensor>(task.entries.at(0).value)).at(0));
    return Entries{{kW, tensor_of<float>({2}), 0}};
  };
  sim.stop = [](const StopContext& c) { return c.updates >= 40; };
  run_without_error(sim);
  for (const float value : seen) CHECK(std::fmod(value, 2.F) == 0);  // whole buffers only
  CHECK(floats_in(sim, kW)[0] == Approx(0.5 * double(sim.summary->updates)));
}

TEST_CASE("a rule sees the number of buffered pushes") {
  struct Watching final : BarrierRule {
    explicit Watching(std::vector<uint32_t>& counts) : buffered(counts) {}
    Status decide(const Progress& progress, std::span<const Slot> asking, double /*now*/,
                  std::span<Decision> out) override {
      for (size_t i = 0; i < asking.size(); ++i) out[i].pass = true;
      CHECK(progress.buffered() == progress.events() % 4);
      buffered.push_back(progress.buffered());
      return {};
    }
    std::vector<uint32_t>& buffered;
  };
  std::vector<uint32_t> buffered;
  SimOptions options{.workers = 3, .rule = [&] { return std::make_unique<Watching>(buffered); }};
  options.run.merge = {MergePolicy::Kind::buffer, 0, 4, 1};
  CounterSim sim(options);
  sim.stop = [](const StopContext& c) { return c.updates >= 40; };
  run_without_error(sim);
  for (const uint32_t count : {0U, 1U, 2U, 3U}) CHECK(std::count(buffered.begin(), buffered.end(), count) > 3);
}

TEST_CASE("the mean of each step's pushes is one step of the optimiser, on any number of shards") {
  for (const uint32_t shards : {1U, 3U}) {
    SimOptions options{.shards = shards};
    options.update.spec = {OptimiserKind::sgd};
    options.update.spec.lr = 1;
    options.update.spec.momentum = 0.9;
    options.run.merge.kind = MergePolicy::Kind::mean;
    CounterSim sim(options);
    sim.work = [](ParamSim::Worker& worker, const ParamWorker::Task&) {
      return Entries{{kW, tensor_of<float>({static_cast<float>(worker.id)}), 0}};  // 0, 1 and 2: their mean is 1
    };
    sim.stop = [](const StopContext& c) { return c.step >= 3; };
    run_without_error(sim);
    CHECK(sim.summary->updates == 9);
    CHECK(floats_in(sim, kW)[0] == Approx(-(1 + 1.9 + 2.71)));
  }
}

TEST_CASE("a stale push is scaled by its staleness") {
  SimOptions options{.workers = 2, .rule = [] { return native_asp(); }};
  options.run.merge = {MergePolicy::Kind::scale, 0, 1, 1};
  CounterSim sim(options);
  sim.stop = [](const StopContext& c) { return c.updates >= 60; };
  run_without_error(sim);
  CHECK(floats_in(sim, kW)[0] < float(sim.summary->updates));
  CHECK(floats_in(sim, kW)[0] > 0.2F * float(sim.summary->updates));
}
