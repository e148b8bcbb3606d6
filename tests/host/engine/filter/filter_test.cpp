#include "host/engine/filter/filter.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

using Values = FilterSpec::Values;

namespace {

template <typename T>
constexpr Dtype type_of = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;

FilterSpec topk(double fraction, Values values = Values::raw) { return {.fraction = fraction, .values = values}; }

const std::vector<FilterSpec>& all_specs() {
  static const std::vector<FilterSpec> specs = {
      {},
      {.values = Values::half},
      {.values = Values::levels},
      {.values = Values::levels, .block = 16},
      topk(0.01),
      topk(0.5),
      topk(1),
      {.count = 3},
      topk(0.1, Values::half),
      topk(0.1, Values::levels),
  };
  return specs;
}

template <typename T>
std::vector<T> normals(Rng& rng, size_t n) {
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(rng.normal());
  return out;
}

template <typename T>
std::vector<T> decoded(const Blob& bytes, size_t n) {
  std::vector<T> out(n, 42);
  const Status status = decode_filtered(bytes.view(), type_of<T>, n, out.data());
  if (!status.ok()) FAIL(status.error().message);
  return out;
}

template <typename T>
std::vector<T> through(const FilterSpec& spec, const std::vector<T>& values) {
  return decoded<T>(Filter(spec).encode(type_of<T>, values.size(), values.data()), values.size());
}

// The k of largest magnitude, of equal elements the first, by sorting.
template <typename T>
std::vector<T> largest(const std::vector<T>& values, size_t k) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto size = [&](size_t i) { return std::isnan(values[i]) ? T(INFINITY) : std::abs(values[i]); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool nan_a = std::isnan(values[a]);
    const bool nan_b = std::isnan(values[b]);
    return nan_a != nan_b ? nan_a : size(a) > size(b);
  });
  std::vector<T> out(values.size(), 0);
  for (size_t i = 0; i < std::min(k, order.size()); ++i) out[order[i]] = values[order[i]];
  return out;
}

template <typename T>
bool equal(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

TEMPLATE_TEST_CASE("tensors of every size come back within the error of their filter", "", float, double) {
  Rng rng(1);
  for (const FilterSpec& spec : all_specs()) {
    for (const size_t n : {0, 1, 2, 15, 63, 64, 65, 1023, 1024, 1025, 5000}) {
      INFO("values " << static_cast<int>(spec.values) << ", topk " << spec.fraction << " or " << spec.count << ", "
                     << n);
      const auto values = normals<TestType>(rng, n);
      const auto expected = largest(values, spec.selected_count(n));
      const auto found = through(spec, values);
      const double reach =
          values.empty() ? 0 : std::abs(*std::max_element(values.begin(), values.end(), [](auto a, auto b) {
            return std::abs(a) < std::abs(b);
          }));
      for (size_t i = 0; i < n; ++i) {
        const double bound = spec.values == Values::half     ? std::abs(double{expected[i]}) * 0x1p-11 + 0x1p-25
                             : spec.values == Values::levels ? 2 * reach / 510 * 1.0001 + 1e-6
                                                             : 0;
        const double selected_bound = expected[i] == 0 && spec.selects() ? 0 : bound;
        if (!(std::abs(double{found[i]} - double{expected[i]}) <= selected_bound)) {
          FAIL(values[i] << " came back as " << found[i] << " at " << i);
        }
      }
    }
  }
}

TEST_CASE("filters make tensors as small as they should") {
  Rng rng(2);
  const auto values = normals<float>(rng, 100000);
  const auto ratio = [&](const FilterSpec& spec) {
    Filter filter(spec);
    const Blob bytes = filter.encode(Dtype::f32, values.size(), values.data());
    CHECK(filter.bytes() == FilterBytes{400000, bytes.size()});
    return 400000 / static_cast<double>(bytes.size());
  };
  CHECK(ratio({.values = Values::half}) > 1.99);
  CHECK(ratio({.values = Values::levels}) > 3.95);
  CHECK(ratio(topk(0.01)) > 70);
  CHECK(ratio(topk(0.01, Values::half)) > 110);
  CHECK(ratio(topk(0.01, Values::levels)) > 150);
  CHECK(ratio(topk(0.5)) > 1.7);  // a bitmap
}

TEMPLATE_TEST_CASE("top-k takes exactly the k largest, the first of equal ones", "", float, double) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const size_t n = rng.below(300) + 1;
    std::vector<TestType> values(n);
    const uint64_t kinds = rng.below(20) + 1;  // few kinds: many ties
    for (TestType& x : values) {
      x = static_cast<TestType>(static_cast<int>(rng.below(kinds)) - static_cast<int>(kinds / 2));
      if (rng.below(4) == 0) x = static_cast<TestType>(x * 1e-3);
      if (rng.below(40) == 0) x = std::numeric_limits<TestType>::infinity();
      if (rng.below(40) == 0) x = std::numeric_limits<TestType>::quiet_NaN();
    }
    const size_t k = rng.below(n + 2) + 1;
    INFO("round " << round << ", " << k << " of " << n);
    CHECK(equal(through({.count = k}, values), largest(values, k)));
  }
}

TEST_CASE("top-k is exact where all magnitudes are nearly the same, and where most are 0") {
  Rng rng(4);
  std::vector<float> narrow(10000);
  for (float& x : narrow) x = static_cast<float>(1 + rng.uniform() * 1e-3) * (rng.below(2) == 0 ? 1.0F : -1.0F);
  CHECK(equal(through({.count = 777}, narrow), largest(narrow, 777)));
  std::vector<float> sparse(10000, 0);
  for (int i = 0; i < 20; ++i) sparse[rng.below(10000)] = static_cast<float>(rng.normal());
  CHECK(equal(through({.count = 777}, sparse), sparse));
  CHECK(Filter({.count = 777}).encode(Dtype::f32, sparse.size(), sparse.data()).size() < 200);
  const std::vector<float> tiny = {0, 1e-45F, -3e-45F, 0, 2e-44F};
  CHECK(through({.count = 2}, tiny) == std::vector<float>{0, 0, -3e-45F, 0, 2e-44F});
}

TEMPLATE_TEST_CASE("pieces in any order make up the whole", "", float, double) {
  Rng rng(5);
  const auto values = normals<TestType>(rng, 5000);
  for (const FilterSpec& spec : all_specs()) {
    if (spec.values == Values::levels) continue;  // blocks begin with the piece
    INFO("values " << static_cast<int>(spec.values) << ", topk " << spec.fraction << " or " << spec.count);
    Filter filter(spec);
    std::vector<TestType> residual(values.size(), 0);
    filter.begin(type_of<TestType>, values.size(), values.data(), residual.data());
    std::vector<TestType> joined(values.size());
    for (const auto& [first, count] : {std::pair<size_t, size_t>{1000, 1016}, {0, 1000}, {2016, 0}, {2016, 2984}}) {
      const Blob bytes = filter.piece(first, count);
      REQUIRE(decode_filtered(bytes.view(), type_of<TestType>, count, joined.data() + first).ok());
    }
    CHECK(joined == through(spec, values));
    for (size_t i = 0; i < values.size(); ++i) {
      if (residual[i] != values[i] - joined[i]) FAIL("the residual of element " << i << " is " << residual[i]);
    }
  }
}

TEMPLATE_TEST_CASE("with error feedback the sums of both sides stay within one residual of each other", "", float,
                   double) {
  Rng rng(6);
  constexpr size_t kSize = 500;
  for (FilterSpec spec : all_specs()) {
    if (!spec.any()) continue;
    INFO("values " << static_cast<int>(spec.values) << ", topk " << spec.fraction << " or " << spec.count);
    Filter filter(spec);
    FilterResidual residual;
    std::vector<double> in(kSize, 0);
    std::vector<double> out(kSize, 0);
    std::vector<double> without(kSize, 0);
    const int rounds = 300;
    const auto drift = normals<TestType>(rng, kSize);  // elements that a filter would get wrong repeatedly
    for (int round = 0; round < rounds; ++round) {
      std::vector<TestType> values = normals<TestType>(rng, kSize);
      for (size_t i = 0; i < kSize; ++i) values[i] = static_cast<TestType>(0.05 * values[i] + drift[i]);
      const Blob bytes = filter.encode(type_of<TestType>, kSize, values.data(), residual.fit(type_of<TestType>, kSize));
      const auto sent = decoded<TestType>(bytes, kSize);
      const auto plain = through(spec, values);
      for (size_t i = 0; i < kSize; ++i) {
        in[i] += double{values[i]};
        out[i] += double{sent[i]};
        without[i] += double{plain[i]};
      }
    }
    const auto* left = reinterpret_cast<const TestType*>(residual.bytes().data());
    double worst = 0;
    double worst_without = 0;
    for (size_t i = 0; i < kSize; ++i) {
      // Rounding of each addition to the residual. The residual grows as large as the elements that wait to be chosen.
      const double rounding = rounds * (std::abs(in[i]) + 10) * std::numeric_limits<TestType>::epsilon();
      if (!(std::abs(out[i] + double{left[i]} - in[i]) <= rounding)) FAIL("element " << i << ": " << out[i] - in[i]);
      worst = std::max(worst, std::abs(out[i] - in[i]));
      worst_without = std::max(worst_without, std::abs(without[i] - in[i]));
    }
    if (spec.selected_count(kSize) < kSize) CHECK(worst < worst_without);
  }
}

TEST_CASE("the residual of another type or size begins with zeros") {
  FilterResidual residual;
  auto* first = static_cast<float*>(residual.fit(Dtype::f32, 4));
  CHECK(first[3] == 0);
  first[3] = 5;
  CHECK(static_cast<float*>(residual.fit(Dtype::f32, 4))[3] == 5);
  CHECK(static_cast<double*>(residual.fit(Dtype::f64, 2))[1] == 0);
  CHECK(static_cast<float*>(residual.fit(Dtype::f32, 4))[3] == 0);
  CHECK(residual.fit(Dtype::f32, 0) == nullptr);
}

TEMPLATE_TEST_CASE("infinite elements and NaN arrive, and do not stay in the residual", "", float, double) {
  Rng rng(7);
  auto values = normals<TestType>(rng, 3000);
  values[10] = std::numeric_limits<TestType>::quiet_NaN();
  values[1500] = std::numeric_limits<TestType>::infinity();
  values[2999] = -std::numeric_limits<TestType>::infinity();
  for (const FilterSpec& spec : all_specs()) {
    INFO("values " << static_cast<int>(spec.values) << ", topk " << spec.fraction << " or " << spec.count);
    std::vector<TestType> residual(values.size(), 0);
    const Blob bytes = Filter(spec).encode(type_of<TestType>, values.size(), values.data(), residual.data());
    const auto found = decoded<TestType>(bytes, values.size());
    CHECK(std::isnan(found[10]));
    CHECK(found[1500] == values[1500]);
    CHECK(found[2999] == values[2999]);
    CHECK(std::all_of(residual.begin(), residual.end(), [](TestType x) { return std::isfinite(x); }));
    CHECK(std::count_if(found.begin(), found.end(), [](TestType x) { return !std::isfinite(x); }) == 3);
  }
  // More of them than chosen elements: the others are dropped.
  std::vector<TestType> bad(100, std::numeric_limits<TestType>::quiet_NaN());
  std::vector<TestType> residual(100, 0);
  (void)Filter({.count = 2}).encode(type_of<TestType>, 100, bad.data(), residual.data());
  CHECK(residual == std::vector<TestType>(100, 0));
}

TEST_CASE("a finite element stays finite where halves end") {
  std::vector<float> values(2000, 1.5F);
  values[1999] = 70000;
  values[3] = 0.1F;
  CHECK(through({.values = Values::half}, values) == values);  // raw
  values[1999] = 65519;
  const auto found = through({.values = Values::half}, values);
  CHECK(found[1999] == 65504);
  CHECK(found[3] != 0.1F);
}

TEST_CASE("wrong specifications are refused") {
  for (const FilterSpec& spec : all_specs()) CHECK(check(spec).ok());
  CHECK_FALSE(check(topk(1.5)).ok());
  CHECK_FALSE(check(topk(NAN)).ok());
  CHECK_FALSE(check(topk(-1)).ok());
  CHECK_FALSE(check({.fraction = 0.5, .count = 2}).ok());
  CHECK_FALSE(check({.block = 15}).ok());
  CHECK_FALSE(check({.block = 65537}).ok());
}

TEST_CASE("truncated bytes and bytes of another tensor are refused") {
  Rng rng(8);
  const auto values = normals<float>(rng, 700);
  std::vector<float> out(800);
  for (const FilterSpec& spec : all_specs()) {
    const Blob bytes = Filter(spec).encode(Dtype::f32, values.size(), values.data());
    INFO("values " << static_cast<int>(spec.values) << ", topk " << spec.fraction << " or " << spec.count);
    for (size_t n = 0; n < bytes.size(); ++n) {
      if (decode_filtered(bytes.view().substr(0, n), Dtype::f32, 700, out.data()).ok()) FAIL("cut at " << n);
    }
    CHECK_FALSE(decode_filtered(std::string(bytes.view()) + '\0', Dtype::f32, 700, out.data()).ok());
    CHECK_FALSE(decode_filtered(bytes.view(), Dtype::f64, 350, out.data()).ok());
    if (!spec.selects()) CHECK_FALSE(decode_filtered(bytes.view(), Dtype::f32, 701, out.data()).ok());
  }
}

TEST_CASE("mutated bytes are refused or decoded, without other effects") {
  Rng rng(9);
  const auto values = normals<double>(rng, 333);
  const std::vector<double> guard(4, 7);
  for (int round = 0; round < 20000; ++round) {
    const FilterSpec& spec = all_specs()[rng.below(all_specs().size())];
    std::string bytes(Filter(spec).encode(Dtype::f64, values.size(), values.data()).view());
    for (uint64_t i = rng.below(4) + 1; i > 0; --i) {
      // The head and the bytes before the values are the hardest to decode.
      const size_t at = rng.below(2) == 0 ? rng.below(std::min<size_t>(bytes.size(), 24)) : rng.below(bytes.size());
      bytes[at] = static_cast<char>(rng.below(256));
    }
    if (rng.below(4) == 0) bytes.resize(rng.below(bytes.size() + 1));
    std::vector<double> out(values.size() + guard.size());
    std::copy(guard.begin(), guard.end(), out.begin() + static_cast<ptrdiff_t>(values.size()));
    (void)decode_filtered(bytes, Dtype::f64, values.size(), out.data());
    if (!std::equal(guard.begin(), guard.end(), out.begin() + static_cast<ptrdiff_t>(values.size()))) FAIL(round);
  }
}

TEST_CASE("bytes at any alignment are decoded") {
  Rng rng(10);
  const auto values = normals<double>(rng, 100);
  for (const FilterSpec& spec : all_specs()) {
    const Blob bytes = Filter(spec).encode(Dtype::f64, values.size(), values.data());
    const std::string shifted = "x" + std::string(bytes.view());
    std::vector<double> out(values.size());
    REQUIRE(decode_filtered(std::string_view(shifted).substr(1), Dtype::f64, values.size(), out.data()).ok());
    CHECK(out == decoded<double>(bytes, values.size()));
  }
}
