#include "host/engine/values/assembler.hpp"
#include "host/engine/values/value.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

TEST_CASE("keys order numbers by value and before texts") {
  std::vector<ParamKey> keys = {key_of("b"),   key_of(10),  key_of(-1.5), key_of("a"),       key_of(2),
                                key_of(1e300), key_of(0.0), key_of(-2e9), key_of(-INFINITY), key_of("")};
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> shown;
  for (const ParamKey& key : keys) shown.push_back(key.print());
  CHECK(shown == std::vector<std::string>{"-inf", "-2000000000", "-1.5", "0", "2", "10", "1.0000000000000001e+300",
                                          "\"\"", "\"a\"", "\"b\""});
}

TEST_CASE("a key is restored from its canonical bytes and other bytes are refused") {
  for (const ParamKey& key : {key_of(3), key_of(-0.25), key_of("weights"), key_of("")}) {
    CHECK(ParamKey::from_canonical(key.canonical()).value() == key);
  }
  CHECK(key_of(7).number() == 7);
  CHECK(key_of(-0.0) == key_of(0.0));
  CHECK_FALSE(ParamKey::of(NAN));
  CHECK_FALSE(ParamKey::of(std::string(ParamKey::kMaxText + 1, 'x')));
  CHECK_FALSE(ParamKey::from_canonical(""));
  CHECK_FALSE(ParamKey::from_canonical("\x01short"));
  CHECK_FALSE(ParamKey::from_canonical("\x03three"));
  CHECK_FALSE(ParamKey::from_canonical(std::string("\x01") + std::string(8, '\xff')));      // a NaN
  CHECK_FALSE(ParamKey::from_canonical(std::string("\x01\x7f") + std::string(7, '\xff')));  // -0
}

TEST_CASE("keys spread evenly over shards, small integers too") {
  const auto chi_square = [](uint32_t shards, auto make) {
    std::vector<double> counts(shards);
    const int n = 10000;
    for (int i = 0; i < n; ++i) counts[owner_of(make(i), shards)] += 1;
    double sum = 0;
    for (double c : counts) sum += (c - n / double(shards)) * (c - n / double(shards)) / (n / double(shards));
    return sum;
  };
  // Bounds are the 99.9 % quantiles of chi-square with shards - 1 degrees of freedom.
  const std::vector<std::pair<uint32_t, double>> cases = {{2, 10.83}, {3, 13.82}, {5, 18.47}, {8, 24.32}, {64, 103.4}};
  for (const auto& [shards, bound] : cases) {
    CAPTURE(shards);
    CHECK(chi_square(shards, [](int i) { return key_of(i); }) < bound);
    CHECK(chi_square(shards, [](int i) { return key_of(("layer" + std::to_string(i)).c_str()); }) < bound);
  }
  CHECK(owner_of(key_of(1), 1) == 0);
}

TEST_CASE("the ranges of a split tensor make it up without gap or overlap") {
  for (uint64_t elements : {uint64_t{0}, uint64_t{1}, uint64_t{17}, uint64_t{65536}, uint64_t{6500001}}) {
    for (uint32_t shards : {1U, 2U, 3U, 5U, 64U}) {
      CAPTURE(elements, shards);
      uint64_t next = 0;
      for (uint32_t k = 0; k < shards; ++k) {
        const ElementRange range = split_range(elements, k, shards);
        REQUIRE(range.first == next);
        REQUIRE((range.first % 16 == 0 || range.count == 0));
        next += range.count;
      }
      CHECK(next == elements);
    }
  }
}

TEST_CASE("a tensor is assembled from pieces in any order, without a copy if they are adjacent in one block") {
  const auto shape = Shape{300000};
  Blob bytes = Blob::allocate(300000 * sizeof(double));
  auto* values = reinterpret_cast<double*>(bytes.data());
  std::iota(values, values + 300000, 0.0);
  const ParamTensor whole = ParamTensor::whole({Dtype::f64, shape}, bytes);
  std::vector<ParamTensor> pieces;
  for_each_chunk(whole, [&](ParamTensor piece) { pieces.push_back(std::move(piece)); });
  REQUIRE(pieces.size() == 3);
  const auto built = [&](const std::vector<size_t>& order, bool shared, bool apart) {
    ParamAssembler::Partial to;
    for (const size_t i : order) {
      ParamEntry entry{ParamKey::of("w").value(), pieces[i], 0};
      if (apart) std::get<ParamTensor>(entry.value).data = Blob::copy_of(pieces[i].data.view());
      ParamAssembler::add(to, std::move(entry), shared);
    }
    CHECK(to.complete());
    const auto& tensor = std::get<ParamTensor>(to.entry.value);
    CHECK(tensor.is_whole());
    CHECK(tensor.data.view() == bytes.view());
    return tensor.data.data() == bytes.data();
  };
  CHECK(built({0, 1, 2}, true, false));
  CHECK_FALSE(built({0, 1, 2}, false, false));
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
    CHECK_FALSE(built(order, true, false));
    CHECK_FALSE(built(order, false, false));
  }
  CHECK_FALSE(built({0, 1, 2}, true, true));
  CHECK_FALSE(built({0, 1, 2}, false, true));
}

TEST_CASE("the pieces of tensors are joined if they are complete and in order, and refused otherwise") {
  const Blob bytes = Blob::allocate(2 * kChunkBytes + 8);
  const ParamTensor whole =
      ParamTensor::whole({Dtype::f32, shape_of({static_cast<int64_t>(bytes.size() / sizeof(float))})}, bytes);
  const auto pieces = [&](const char* key) { return pieces_of(key_of(key), whole, {0, whole.count}); };
  const auto then = [](std::vector<ParamEntry> first, const std::vector<ParamEntry>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  const ParamEntry empty{key_of("e"), tensor_of<float>({}, {0, 4}), 0};
  const ParamEntry lua{key_of("l"), lua_of("a table"), 0};
  const ParamEntry nil{key_of("n"), std::monostate{}, 0};

  // Two values of one key, as in a copy, and values that are not in pieces.
  const auto joined = join_pieces(then(then(pieces("w"), pieces("w")), {empty, lua, nil, empty}), true).value();
  REQUIRE(joined.size() == 6);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(joined[i].key == key_of("w"));
    CHECK(std::get<ParamTensor>(joined[i].value).is_whole());
    CHECK(std::get<ParamTensor>(joined[i].value).data.data() == bytes.data());
  }
  CHECK(joined[3].key == key_of("l"));
  const auto copied = join_pieces(pieces("w")).value();
  CHECK(std::get<ParamTensor>(copied.at(0).value).data.unique());
  CHECK(join_pieces({}).value().empty());

  const auto refused = [](std::vector<ParamEntry> entries) {
    const auto got = join_pieces(std::move(entries));
    return !got.ok() && got.error().code == Code::bad_data;
  };
  const std::vector<ParamEntry> w = pieces("w");
  CHECK(refused({w[0], w[1]}));
  CHECK(refused({w[1], w[2]}));
  CHECK(refused({w[1], w[0], w[2]}));
  CHECK(refused({w[0], w[1], w[1], w[2]}));
  CHECK(refused({w[0], w[1], pieces("other")[2]}));
  CHECK(refused({w[0], lua, w[1], w[2]}));
  ParamEntry other = w[1];
  std::get<ParamTensor>(other.value).dtype = Dtype::f64;
  CHECK(refused({w[0], other, w[2]}));
}
