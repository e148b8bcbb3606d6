#include "host/engine/values/param_store.hpp"

#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

using kernel::OptimiserKind;
using kernel::OptimiserSpec;

namespace {

ParamTensor read_back(const ParamStore& store, const ParamKey& key) {
  const auto& tensor = std::get<StoredTensor>(store.find(key)->value);
  Blob all = Blob::allocate(tensor.range.count * dtype_size(tensor.dtype));
  size_t at = 0;
  for (const StoredChunk& chunk : tensor.chunks) {
    std::memcpy(all.data() + at, chunk.value.data(), chunk.value.size());
    at += chunk.value.size();
  }
  return {{tensor.dtype, tensor.shape}, tensor.range.first, tensor.range.count, all};
}

bool update_all(ParamStore& store, const ParamKey& key, const ParamTensor& update, const UpdateRule& rule,
                const UpdateContext& context) {
  bool non_finite = false;
  for (const ParamEntry& piece : pieces_of(key, update, store.held_range(update))) {
    const Status fits = store.check_update(piece, rule, "worker 1");
    INFO((fits.ok() ? "" : fits.error().message));
    REQUIRE(fits.ok());
    non_finite |= store.update(piece, rule, context);
  }
  return non_finite;
}

void set_whole(ParamStore& store, const ParamKey& key, const ParamTensor& value) {
  REQUIRE(store.set(pieces_of(key, value, store.held_range(value))).ok());
}

OptimiserSpec optimiser_of(OptimiserKind kind) {
  OptimiserSpec spec{.kind = kind, .lr = 0.1};
  if (kind == OptimiserKind::sgd) spec.momentum = 0.9;
  return spec;
}

}  // namespace

TEST_CASE("a value is set, read, replaced and removed") {
  ParamStore store;
  const ParamKey key = key_of("w");
  CHECK(store.find(key) == nullptr);
  set_whole(store, key, tensor_of<float>({1, 2}));
  CHECK(values_of(read_back(store, key)) == std::vector<float>{1, 2});
  CHECK(store.find(key)->version == 1);
  REQUIRE(store.set({{key, lua_of("x"), 3}}).ok());
  CHECK(std::get<LuaValue>(store.find(key)->value).encoded.view() == "x");
  CHECK(store.find(key)->step == 3);
  CHECK(store.keys() == std::vector<ParamKey>{key});
  REQUIRE(store.set({{key, std::monostate{}, 0}}).ok());
  CHECK(store.find(key) == nullptr);
}

TEST_CASE("a set value does not change when the caller writes to its tensor") {
  ParamStore store;
  ParamTensor mine = tensor_of<float>({1, 2});
  set_whole(store, key_of(1), mine);
  reinterpret_cast<float*>(mine.data.data())[0] = 99;
  CHECK(values_of(read_back(store, key_of(1))) == std::vector<float>{1, 2});
}

TEST_CASE("bytes without another owner are stored without a copy") {
  ParamStore store;
  ParamTensor tensor = tensor_of<float>({1, 2});
  const std::byte* bytes = tensor.data.data();
  std::vector<ParamEntry> entries;
  entries.push_back({key_of(1), std::move(tensor), 0});
  REQUIRE(store.set(std::move(entries)).ok());
  CHECK(std::get<StoredTensor>(store.find(key_of(1))->value).chunks[0].value.data() == bytes);
}

TEST_CASE("a reader's value does not change while updates continue") {
  ParamStore store;
  set_whole(store, key_of(1), tensor_of<float>({1, 2}));
  const Blob held = std::get<StoredTensor>(store.find(key_of(1))->value).chunks[0].value;
  const UpdateRule add = UpdateRule::native(optimiser_of(OptimiserKind::add));
  update_all(store, key_of(1), tensor_of<float>({10, 10}), add, {});
  CHECK(reinterpret_cast<const float*>(held.data())[0] == 1);
  CHECK(values_of(read_back(store, key_of(1))) == std::vector<float>{11, 12});
  const std::byte* now = std::get<StoredTensor>(store.find(key_of(1))->value).chunks[0].value.data();
  update_all(store, key_of(1), tensor_of<float>({10, 10}), add, {});
  CHECK(std::get<StoredTensor>(store.find(key_of(1))->value).chunks[0].value.data() == now);  // in place
}

TEST_CASE("a message with an incomplete or misplaced piece changes nothing") {
  ParamStore store;
  set_whole(store, key_of(1), tensor_of<float>({1, 2}));
  const ParamTensor big = tensor_of(std::vector<float>(kChunkBytes / 4 + 10, 1.F));
  std::vector<ParamEntry> pieces = pieces_of(key_of(2), big, {0, big.count});
  REQUIRE(pieces.size() == 2);
  CHECK_FALSE(store.set({{key_of(1), tensor_of<float>({5, 5}), 0}, pieces[0]}).ok());
  CHECK_FALSE(store.set({pieces[1]}).ok());
  CHECK_FALSE(store.set({pieces[1], pieces[0]}).ok());
  ParamEntry shifted = pieces[0];
  std::get<ParamTensor>(shifted.value).first = 3;
  CHECK_FALSE(store.set({shifted, pieces[1]}).ok());
  CHECK_FALSE(store.set({{key_of(3), ParamFetch{}, 0}}).ok());
  CHECK(values_of(read_back(store, key_of(1))) == std::vector<float>{1, 2});
  CHECK(store.size() == 1);
  CHECK(store.set({pieces[0], pieces[1]}).ok());
}

TEST_CASE("an update that does not fit changes nothing, and its error names key, shapes and worker") {
  ParamStore store;
  set_whole(store, key_of("w"), tensor_of<float>({1, 2, 3, 4}, {2, 2}));
  REQUIRE(store.set({{key_of("t"), lua_of("x"), 0}}).ok());
  const UpdateRule add = UpdateRule::native(optimiser_of(OptimiserKind::add));
  const auto why = [&](const ParamKey& key, const ParamValue& value) {
    const Status fits = store.check_update({key, value, 0}, add, "worker 7");
    REQUIRE_FALSE(fits.ok());
    return fits.error().message;
  };
  const std::string shape = why(key_of("w"), tensor_of<float>({1, 2, 3}));
  CHECK_THAT(shape, Catch::Contains("\"w\"") && Catch::Contains("float32 3") && Catch::Contains("float32 2x2") &&
                        Catch::Contains("worker 7") && Catch::Contains("nothing is changed"));
  CHECK_THAT(why(key_of("w"), tensor_of<double>({1, 2, 3, 4}, {2, 2})), Catch::Contains("float64 2x2"));
  CHECK_THAT(why(key_of("nope"), tensor_of<float>({1})), Catch::Contains("has no value"));
  CHECK_THAT(why(key_of("t"), tensor_of<float>({1})), Catch::Contains("not a tensor"));
  CHECK_THAT(why(key_of("w"), lua_of("x")), Catch::Contains("has to be a tensor"));
  CHECK(values_of(read_back(store, key_of("w"))) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("values that are not finite are applied and reported") {
  ParamStore store;
  set_whole(store, key_of(1), tensor_of(std::vector<float>(5000, 0.F)));
  set_whole(store, key_of(2), tensor_of(std::vector<double>(5000, 0.0)));
  const UpdateRule add = UpdateRule::native(optimiser_of(OptimiserKind::add));
  std::vector<float> f(5000, 1.F);
  CHECK_FALSE(update_all(store, key_of(1), tensor_of(f), add, {}));
  f[4321] = NAN;
  CHECK(update_all(store, key_of(1), tensor_of(f), add, {}));
  f[4321] = -INFINITY;
  CHECK(update_all(store, key_of(1), tensor_of(f), add, {}));
  std::vector<double> d(5000, 1e300);
  CHECK_FALSE(update_all(store, key_of(2), tensor_of(d), add, {}));
  d[0] = INFINITY;
  CHECK(update_all(store, key_of(2), tensor_of(d), add, {}));
  CHECK(std::isnan(values_of(read_back(store, key_of(1)))[4321]));
}

TEST_CASE("native updates agree with the formulas") {
  const uint64_t seed = 5;
  Rng rng(seed);
  const size_t n = 33;
  const std::vector<float> start = random_floats(rng, n);
  std::vector<std::vector<float>> grads;
  for (int i = 0; i < 5; ++i) grads.push_back(random_floats(rng, n));
  for (const OptimiserKind kind :
       {OptimiserKind::add, OptimiserKind::sgd, OptimiserKind::adagrad, OptimiserKind::adam}) {
    CAPTURE(static_cast<int>(kind));
    ParamStore store;
    set_whole(store, key_of(1), tensor_of(start));
    OptimiserSpec spec = optimiser_of(kind);
    spec.decay = {kernel::DecayKind::inverse_time, 1, 2, 0};
    std::vector<double> w(start.begin(), start.end());
    std::vector<double> a(n, 0);
    std::vector<double> b(n, 0);
    for (size_t t = 0; t < grads.size(); ++t) {
      const uint64_t clock = 10 * t;  // the rate depends on the clock, Adam's correction on the number of updates
      update_all(store, key_of(1), tensor_of(grads[t]), UpdateRule::native(spec), {clock, 0.5});
      const double lr = 0.1 / (1 + double(clock) / 2);
      for (size_t i = 0; i < n; ++i) {
        const double g = 0.5 * grads[t][i];
        if (kind == OptimiserKind::add) w[i] += g;
        if (kind == OptimiserKind::sgd) w[i] -= lr * (a[i] = 0.9 * a[i] + g);
        if (kind == OptimiserKind::adagrad) w[i] -= lr * g / (std::sqrt(a[i] += g * g) + 1e-8);
        if (kind == OptimiserKind::adam) {
          a[i] = 0.9 * a[i] + 0.1 * g;
          b[i] = 0.999 * b[i] + 0.001 * g * g;
          const double m = a[i] / (1 - std::pow(0.9, t + 1));
          const double v = b[i] / (1 - std::pow(0.999, t + 1));
          w[i] -= lr * m / (std::sqrt(v) + 1e-8);
        }
      }
    }
    const std::vector<float> got = values_of(read_back(store, key_of(1)));
    for (size_t i = 0; i < n; ++i) CHECK(std::abs(double(got[i]) - w[i]) < 1e-5);
    CHECK(store.find(key_of(1))->step == 41);
    CHECK(store.find(key_of(1))->version == 6);
  }
}

TEST_CASE("1, 2, 3 and 5 shards give the same bits for every update") {
  const uint64_t seed = 77;
  Rng rng(seed);
  const size_t n = 700001;  // split, an odd length, several chunks
  const std::vector<float> start = random_floats(rng, n);
  const std::vector<float> g1 = random_floats(rng, n);
  const std::vector<float> g2 = random_floats(rng, n);
  for (const OptimiserKind kind : {OptimiserKind::add, OptimiserKind::sgd, OptimiserKind::adagrad, OptimiserKind::adam,
                                   OptimiserKind::rmsprop, OptimiserKind::adamw}) {
    std::vector<float> expected;
    for (uint32_t shards : {1U, 2U, 3U, 5U}) {
      CAPTURE(static_cast<int>(kind), shards);
      std::vector<float> all;
      for (uint32_t k = 0; k < shards; ++k) {
        ParamStore store(k, shards);
        set_whole(store, key_of(1), tensor_of(start));
        const UpdateRule rule = UpdateRule::native(optimiser_of(kind));
        update_all(store, key_of(1), tensor_of(g1), rule, {0, 1});
        update_all(store, key_of(1), tensor_of(g2), rule, {1, 0.25});
        const std::vector<float> part = values_of(read_back(store, key_of(1)));
        all.insert(all.end(), part.begin(), part.end());
      }
      if (shards == 1) expected = all;
      CHECK(all == expected);
    }
  }
}

TEST_CASE("another optimiser starts with fresh state, setting the value keeps it") {
  ParamStore store;
  const ParamKey key = key_of(1);
  set_whole(store, key, tensor_of<float>({0, 0}));
  const UpdateRule adam = UpdateRule::native(optimiser_of(OptimiserKind::adam));
  update_all(store, key, tensor_of<float>({1, 1}), adam, {});
  const auto tensor = [&]() -> const StoredTensor& { return std::get<StoredTensor>(store.find(key)->value); };
  CHECK(tensor().state_parts == 2);
  CHECK(tensor().chunks[0].made == 1);
  set_whole(store, key, tensor_of<float>({5, 5}));
  CHECK(tensor().state_parts == 2);
  update_all(store, key, tensor_of<float>({1, 1}), UpdateRule::native(optimiser_of(OptimiserKind::adagrad)), {});
  CHECK(tensor().state_parts == 1);
  CHECK(tensor().chunks[0].made == 1);
  set_whole(store, key, tensor_of<float>({5, 5, 5}));
  CHECK(tensor().state_parts == 0);
}

TEST_CASE("a snapshot does not change and restores onto any number of shards") {
  Rng rng(3);
  const std::vector<float> start = random_floats(rng, 200001);
  const UpdateRule adam = UpdateRule::native(optimiser_of(OptimiserKind::adam));
  ParamStore store;
  set_whole(store, key_of(1), tensor_of(start));
  REQUIRE(store.set({{key_of("t"), lua_of("table"), 2}}).ok());
  update_all(store, key_of(1), tensor_of(start), adam, {});
  const auto snapshot = store.snapshot();
  const std::vector<float> then = values_of(read_back(store, key_of(1)));
  update_all(store, key_of(1), tensor_of(start), adam, {});
  CHECK(values_of(read_back(store, key_of(1))) != then);

  // Joins the chunks of the snapshot, restores, and continues like the original.
  const auto& stored = std::get<StoredTensor>(snapshot.at(0).second.value);
  const auto join = [&](auto bytes_of) {
    std::string all;
    for (const StoredChunk& chunk : stored.chunks) all += bytes_of(chunk).view();
    return Tensor{stored, Blob::copy_of(all)};
  };
  const Tensor value = join([](const StoredChunk& c) { return c.value; });
  CHECK(values_of(value) == then);
  const std::vector<Tensor> state = {join([](const StoredChunk& c) { return c.state[0]; }),
                                     join([](const StoredChunk& c) { return c.state[1]; })};
  std::vector<float> resumed;
  size_t tables = 0;
  for (uint32_t k = 0; k < 3; ++k) {
    ParamStore other(k, 3);
    REQUIRE(other.restore(key_of(1), value, state, stored.state_of, stored.chunks[0].made, 1, 2).ok());
    REQUIRE(other.restore(key_of("t"), lua_of("table"), 2, 1).ok());
    update_all(other, key_of(1), tensor_of(start), adam, {});
    const std::vector<float> part = values_of(read_back(other, key_of(1)));
    resumed.insert(resumed.end(), part.begin(), part.end());
    tables += other.find(key_of("t")) != nullptr ? 1 : 0;
  }
  CHECK(resumed == values_of(read_back(store, key_of(1))));
  CHECK(tables == 1);
}
