#include "host/data/content/npz.hpp"
#include "host/engine/param/checkpoint.hpp"
#include "host/engine/param/checkpoint_file.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/engine/param/param_counter.hpp"
#include "tests/host/engine/param/param_sim.hpp"
#include "tests/test.hpp"

namespace {

const ParamKey kSmall = key_of(7);
const ParamKey kTable = key_of("a table/with spaces");

Tasks fetch_for(const std::vector<NodeId>& ids) {
  Tasks tasks;
  for (const NodeId id : ids) tasks[id] = {{kW, ParamFetch{}, 0}, {kSmall, ParamFetch{}, 0}};
  return tasks;
}

SimOptions adam_options(uint32_t shards, uint64_t seed) {
  SimOptions options{.seed = seed, .shards = shards};
  options.update.spec.kind = kernel::OptimiserKind::adam;
  return options;
}

// With all optimiser state: two arrays, the number of updates, and the position in the schedule.
kernel::OptimiserSpec remembering(kernel::OptimiserKind kind) {
  kernel::OptimiserSpec spec{.kind = kind, .momentum = 0.9, .weight_decay = 0.01, .initial = 0.1};
  spec.decay = {.kind = kernel::DecayKind::cosine, .every = 3, .floor = 0.1, .warm_steps = 3, .warm_start = 0.2};
  return spec;
}

// Pushes that depend on the model, the worker and the step, so that a resumed run shows any difference.
void train(ParamSim& sim, uint64_t steps) {
  sim.schedule = fetch_for;
  sim.work = [](ParamSim::Worker& worker, const ParamWorker::Task& task) {
    Entries out;
    for (const ParamEntry& entry : task.entries) {
      std::vector<float> w = values_of(std::get<ParamTensor>(entry.value));
      for (size_t i = 0; i < w.size(); ++i) {
        w[i] = std::sin(w[i] * 3 + static_cast<float>(worker.id + task.step) + static_cast<float>(i % 7));
      }
      out.push_back({entry.key, tensor_of(w), 0});
    }
    return out;
  };
  sim.stop = [steps](const StopContext& c) { return c.step >= steps; };
}

void set_start(ParamSim& sim) {
  Rng rng(1);
  sim.set(kW, tensor_of(random_floats(rng, 100003)));
  sim.set(kSmall, tensor_of(random_floats(rng, 5)));
  LuaValue table = lua_of("encoded");
  table.tensors.push_back(plain(tensor_of<double>({1.5, 2.5})));
  sim.set(kTable, table);
}

// Each worker adds 1 to its own element of each key and of a split tensor; the keys are on different shards.
constexpr size_t kElements = 100000;
const std::vector<ParamKey> kCounters = {key_of("a"), key_of("b"), key_of("c"), key_of("d"), key_of("e")};
const ParamKey kLarge = key_of("large");

void count_on_all_shards(ParamSim& sim) {
  for (const ParamKey& key : kCounters) sim.set(key, tensor_of<float>({0, 0, 0, 0}));
  sim.set(kLarge, tensor_of(std::vector<float>(kElements, 0)));
  sim.schedule = [](const std::vector<NodeId>& ids) { return actorhost::test::fetch_for(ids, kCounters[0]); };
  sim.work = [](ParamSim::Worker& worker, const ParamWorker::Task&) {
    std::vector<float> one(4, 0);
    one[worker.id] = 1;
    Entries out{{kLarge, tensor_of(std::vector<float>(kElements, 1)), 0}};
    for (const ParamKey& key : kCounters) out.push_back({key, tensor_of(one), 0});
    return out;
  };
  // Values that a pull has set on another shard may still be in flight, so the test stores the sums.
  sim.pull = [sums = std::map<ParamKey, std::vector<float>>()](ParamSim&,
                                                               const std::vector<PullEntry>& updates) mutable {
    Entries out;
    for (const PullEntry& update : updates) {
      const auto more = values_of(std::get<ParamTensor>(update.value));
      std::vector<float>& sum = sums[update.key];
      sum.resize(more.size());
      for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
      out.push_back({update.key, tensor_of(sum), 0});
    }
    return out;
  };
  sim.stop = [](const StopContext& c) { return c.step >= 12; };
}

// Checks each checkpoint: on all shards it holds as many pushes of a worker as the worker's clock.
class WholePushes final : public CheckpointSink {
 public:
  explicit WholePushes(uint32_t shards) : shards_(shards) {}
  void begin(const RunState& state) override {
    state_ = state;
    parts_.clear();
  }
  void add(uint64_t number, uint32_t, std::vector<std::pair<ParamKey, Stored>> values) override {
    if (number != state_.number) return;  // a later checkpoint has replaced it
    parts_.push_back(std::move(values));
    if (parts_.size() == shards_) check();
  }
  void finished(RunId, const ParamSummary&) override {}
  size_t seen = 0;

 private:
  void check() {
    ++seen;
    const float all = static_cast<float>(state_.updates);
    for (const auto& part : parts_) {
      for (const auto& [key, stored] : part) {
        const auto& tensor = std::get<StoredTensor>(stored.value);
        for (size_t i = 0; i < tensor.chunks.size(); ++i) {
          const std::vector<float> found = values_of(tensor.chunk(i));
          if (key == kLarge) {
            CHECK(std::all_of(found.begin(), found.end(), [&](float value) { return value == all; }));
            continue;
          }
          for (const auto& [id, clock] : state_.clocks) CHECK(found.at(id) == static_cast<float>(clock));
        }
      }
    }
  }
  const uint32_t shards_;
  RunState state_;
  std::vector<std::vector<std::pair<ParamKey, Stored>>> parts_;
};

}  // namespace

TEST_CASE("a push is in a checkpoint on all shards or on none, also under rules without order") {
  const uint64_t seed = GENERATE(range(1, 9));
  SimOptions options{.seed = seed,
                     .shards = GENERATE(1U, 3U),
                     .workers = 4,
                     .deaths = GENERATE(0U, 1U),
                     .whole = GENERATE(false, true)};
  options.run.checkpoint.steps = 1;
  if (options.whole) options.update.kind = UpdateRule::Kind::lua;
  options.rule = [seed] { return seed % 2 == 0 ? native_asp() : native_ssp(2); };
  WholePushes cuts(options.shards);
  options.checkpoints = &cuts;
  ParamSim sim(options);
  INFO("seed " << seed << ", shards " << options.shards << ", Lua pull " << options.whole);
  count_on_all_shards(sim);
  run_without_error(sim);
  CHECK(cuts.seen > 5);
}

TEST_CASE("a run resumed from a checkpoint gives the same bits as an uninterrupted run") {
  using kernel::OptimiserKind;
  const auto kind = GENERATE(OptimiserKind::add, OptimiserKind::sgd, OptimiserKind::adagrad, OptimiserKind::adam,
                             OptimiserKind::rmsprop, OptimiserKind::adamw);
  CAPTURE(kernel::name_of(kind));
  const auto options_of = [&](uint32_t shards, uint64_t seed) {
    SimOptions options = adam_options(shards, seed);
    options.update.spec = remembering(kind);
    return options;
  };
  ParamSim whole(options_of(1, 1));
  set_start(whole);
  train(whole, 6);
  REQUIRE(whole.run());

  Scratch scratch;
  Log log(LogLevel::off);
  {
    ParamCheckpointer checkpointer({scratch.path()}, 3, log);
    SimOptions options = options_of(3, 2);
    options.run.checkpoint.steps = 2;
    options.checkpoints = &checkpointer;
    ParamSim first(options);
    set_start(first);
    train(first, 5);
    // Ends the run as if the server were killed in the fifth step.
    first.stop = [&](const StopContext& c) {
      if (c.step == 4) first.error = Error{Code::aborted, "killed"};
      return false;
    };
    REQUIRE(first.run());
    REQUIRE(checkpointer.flush().ok());
  }
  const auto loaded = required(load_newest_checkpoint(scratch.path(), log));
  REQUIRE(loaded->has_value());
  CHECK((*loaded)->state.updates == 12);
  CHECK((*loaded)->state.clocks == std::map<NodeId, uint64_t>{{0, 4}, {1, 4}, {2, 4}});

  SimOptions options = options_of(2, 3);  // another number of shards
  options.run.resumed = (*loaded)->state;
  ParamSim second(options);
  second.restore(**loaded);
  train(second, 6);
  REQUIRE(second.run());
  CHECK(second.summary->updates == 18);
  CHECK(second.summary->seconds > (*loaded)->state.seconds);
  CHECK(floats_in(second, kW) == floats_in(whole, kW));
  CHECK(floats_in(second, kSmall) == floats_in(whole, kSmall));
  const auto table = std::get<LuaValue>(second.value(kTable));
  CHECK(table.encoded.view() == "encoded");
  CHECK(values_of<double>(table.tensors.at(0)) == std::vector<double>{1.5, 2.5});
}

TEST_CASE("a last checkpoint in the middle of a BSP step excludes the pushes that wait at the barrier") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, 21));
  CAPTURE(seed);
  ParamSim whole(adam_options(1, 1));
  set_start(whole);
  train(whole, 6);
  REQUIRE(whole.run());

  Scratch scratch;
  Log log(LogLevel::off);
  {
    ParamCheckpointer checkpointer({scratch.path()}, 2, log);
    SimOptions options = adam_options(2, seed);
    options.checkpoints = &checkpointer;
    ParamSim first(options);
    set_start(first);
    train(first, 5);
    bool requested = false;
    first.after_event = [&requested](ParamSim& sim) {
      std::set<uint64_t> pushes;
      for (const auto& [id, worker] : sim.workers()) pushes.insert(worker.pushes);
      if (*pushes.begin() > 0 && pushes.size() > 1 && !std::exchange(requested, true))
        CHECK(sim.server().last_checkpoint());
    };
    REQUIRE(first.run());
    first.settle();
    REQUIRE(checkpointer.flush().ok());
    CHECK_FALSE(checkpointer.pending());
    CHECK_FALSE(first.server().last_checkpoint());  // the run is over
    REQUIRE(requested);
  }
  const auto loaded = required(load_newest_checkpoint(scratch.path(), log));
  REQUIRE(loaded->has_value());
  const auto& clocks = (*loaded)->state.clocks;
  const auto [least, most] = std::minmax_element(clocks.begin(), clocks.end(),
                                                 [](const auto& a, const auto& b) { return a.second < b.second; });
  CHECK(least->second == most->second);
  CHECK((*loaded)->state.updates == clocks.size() * least->second);

  SimOptions options = adam_options(3, seed);
  options.run.resumed = (*loaded)->state;
  ParamSim second(options);
  second.restore(**loaded);
  train(second, 6);
  REQUIRE(second.run());
  CHECK(floats_in(second, kW) == floats_in(whole, kW));
}

TEST_CASE("a checkpoint has arrays for numpy, named by the keys, and is made at the end too") {
  Scratch scratch;
  Log log(LogLevel::off);
  ParamCheckpointer checkpointer({scratch.path()}, 2, log);
  SimOptions options = adam_options(2, 2);
  options.run.checkpoint.seconds = 1e9;  // not before the end
  options.checkpoints = &checkpointer;
  ParamSim sim(options);
  set_start(sim);
  train(sim, 2);
  REQUIRE(sim.run());
  sim.settle();
  REQUIRE(checkpointer.flush().ok());
  const auto arrays = required(read_npz(scratch / "checkpoint-000000000001" / "values.npz"));
  std::vector<std::string> names;
  for (const NamedArray& named : *arrays) names.push_back(named.name);
  CHECK(std::is_permutation(names.begin(), names.end(),
                            std::vector<std::string>{"value.w", "state0.w", "state1.w", "value.@0", "state0.@0",
                                                     "state1.@0", "value.@1", "tensor0.@1"}
                                .begin()));
  const auto w = std::find_if(arrays->begin(), arrays->end(), [](const auto& a) { return a.name == "value.w"; });
  CHECK(w->array.shape == Shape{100003});
  const auto got = values_of(ParamTensor::whole({Dtype::f32, shape_of({100003})}, w->array.data));
  CHECK(got == floats_in(sim, kW));
}

TEST_CASE("a damaged checkpoint is skipped with a warning and the next older one is used") {
  Scratch scratch;
  std::vector<std::string> lines;
  Log log(LogLevel::warn, [&](const LogLine& line) { lines.push_back(line.words()); });
  {
    ParamCheckpointer checkpointer({scratch.path()}, 1, log);
    for (uint64_t i = 1; i <= 4; ++i) {
      ParamStore store;
      REQUIRE(store.set({{kW, tensor_of<float>({float(i)}), i}}).ok());
      checkpointer.begin({i, 9, {{0, i}}, i, double(i)});
      checkpointer.add(i, 0, store.snapshot());
      REQUIRE(checkpointer.flush().ok());
    }
  }
  const auto newest = [&] { return load_newest_checkpoint(scratch.path(), log).value(); };
  CHECK(newest()->state.number == 4);
  CHECK(lines.empty());

  std::string bytes = slurp(scratch / "checkpoint-000000000004" / "values.npz");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  scratch.file("checkpoint-000000000004/values.npz", bytes);
  CHECK(newest()->state.number == 3);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("checkpoint-000000000004") && Catch::Contains("skipped"));

  std::filesystem::remove(scratch / "checkpoint-000000000003" / "state.json");
  CHECK(newest()->state.number == 2);
  CHECK_FALSE(std::filesystem::exists(scratch / "checkpoint-000000000001"));  // three are kept
  std::filesystem::remove_all(scratch / "checkpoint-000000000002");
  CHECK_FALSE(newest().has_value());
}

TEST_CASE("any changed byte in a checkpoint's state is refused") {
  Scratch scratch;
  Log log(LogLevel::off);
  {
    ParamCheckpointer checkpointer({scratch.path()}, 1, log);
    ParamStore store;
    REQUIRE(store.set({{kW, tensor_of<float>({1, 2}), 1}, {kTable, lua_of("x"), 0}}).ok());
    checkpointer.begin({1, 9, {{0, 3}}, 3, 1});
    checkpointer.add(1, 0, store.snapshot());
    checkpointer.finished(3, {1, 2, 3, "stop", 0, 0, 0});
  }
  const uint64_t seed = 11;
  CAPTURE(seed);
  Rng rng(seed);
  const std::string good = slurp(scratch / "checkpoint-000000000001" / "state.json");
  for (int i = 0; i < 300; ++i) {
    scratch.file("checkpoint-000000000001/state.json", mutate(good, rng));
    (void)read_checkpoint(scratch / "checkpoint-000000000001").ok();  // without the hash check, too, only errors
    const auto loaded = required(load_newest_checkpoint(scratch.path(), log));
    if (slurp(scratch / "checkpoint-000000000001" / "state.json") != good) REQUIRE_FALSE(loaded->has_value());
  }
}

TEST_CASE("a checkpoint has the summaries of earlier runs, with the bytes of their filters") {
  Scratch scratch;
  Log log(LogLevel::off);
  const ParamSummary plain{7, 21, 3, "stop", 0, 1, 0};
  ParamSummary filtered = plain;
  filtered.traffic = ParamTraffic{{4000, 1000}, {8000, 4000}};
  {
    ParamCheckpointer checkpointer({scratch.path()}, 1, log);
    ParamStore store;
    checkpointer.finished(1, plain);
    checkpointer.finished(2, filtered);
    checkpointer.begin({1, 9, {{0, 3}}, 3, 1});
    checkpointer.add(1, 0, store.snapshot());
  }
  const auto loaded = required(load_newest_checkpoint(scratch.path(), log));
  REQUIRE(*loaded);
  CHECK((*loaded)->finished == std::map<RunId, ParamSummary>{{1, plain}, {2, filtered}});
}

TEST_CASE("a run that had ended before the job was resumed ends at once with its summary") {
  SimOptions options;
  const ParamSummary before{7, 21, 3, "stop", 0, 1, 0};
  options.run.finished = before;
  ParamSim sim(options);
  sim.summary = before;
  REQUIRE(sim.run());
  for (const auto& [id, worker] : sim.workers()) CHECK(worker.summary == before);
}
