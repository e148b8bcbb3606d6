#include "host/data/content/npz.hpp"
#include "host/engine/param/checkpoint.hpp"
#include "host/engine/param/checkpoint_file.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

namespace {

const ParamKey kW = key_of("w");
const ParamKey kTable = key_of("a table/with spaces");

}  // namespace

TEST_CASE("a checkpoint has arrays for numpy, named by the keys") {
  Scratch scratch;
  Log log(LogLevel::off);
  ParamStore store;
  LuaValue table = lua_of("encoded");
  table.tensors.push_back(plain(tensor_of<double>({1.5, 2.5})));
  REQUIRE(store.set({{kW, tensor_of<float>({1, 2, 3}), 1}, {key_of(7), tensor_of<float>({4}), 1}, {kTable, table, 1}})
              .ok());
  UpdateRule adam = UpdateRule::native({kernel::OptimiserKind::adam});
  adam.spec.lr = 0.1;
  const ParamEntry update{kW, tensor_of<float>({1, 1, 1}), 1};
  REQUIRE(store.check_update(update, adam, "worker 1").ok());
  CHECK_FALSE(store.update(update, adam, {}));
  {
    ParamCheckpointer checkpointer({scratch.path()}, 1, log);
    checkpointer.begin({1, 9, {{0, 1}}, 1, 1});
    checkpointer.add(1, 0, store.snapshot());
  }
  const auto arrays = required(read_npz(scratch / "checkpoint-000000000001" / "values.npz"));
  std::map<std::string, Tensor> found;
  for (const NamedArray& named : *arrays) found[named.name] = named.array;
  std::set<std::string> names;
  for (const auto& [name, array] : found) names.insert(name);
  CHECK(names == std::set<std::string>{"value.w", "state0.w", "state1.w", "value.@0", "value.@1", "tensor0.@1"});
  CHECK(found.at("value.w").shape == Shape{3});
  const auto w = values_of(ParamTensor::whole({Dtype::f32, Shape({3})}, found.at("value.w").data));
  CHECK((w[0] == Approx(0.9) && w[2] == Approx(2.9)));
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
