#include "host/kernel/strided.hpp"

#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

// A seeded view into a larger array: random shape (zeros and ones included), dimension order and gaps.
struct Sample {
  std::vector<double> storage;
  View view;
};

Sample sample_of(Rng& rng, const Shape& shape) {
  Sample s;
  std::vector<uint32_t> order(shape.rank);
  std::vector<uint32_t> permutation(order.size());
  std::iota(permutation.begin(), permutation.end(), 0U);
  rng.sample(permutation, shape.rank, order.data());
  s.view = row_major(nullptr, Dtype::f64, shape);
  auto step = static_cast<int64_t>(1 + rng.below(2));
  for (uint32_t d : order) {
    s.view.steps[d] = step;
    step *= std::max<int64_t>(shape[d], 1) + static_cast<int64_t>(rng.below(2));
  }
  s.storage = normals<double>(rng, step + 1);
  s.view.data = s.storage.data();
  return s;
}

Shape random_shape(Rng& rng, int ndim) {
  Shape shape;
  for (int d = 0; d < ndim; ++d) {
    shape[shape.rank++] = rng.below(20) == 0 ? 0 : static_cast<int64_t>(1 + rng.below(6));
  }
  return shape;
}

// Calls f(index) for each index of the shape.
template <typename F>
void each(const View& v, F f) {
  std::array<int64_t, Shape::kMaxRank> index{};
  for (int64_t i = 0; i < v.size(); ++i) {
    f(index);
    for (int d = v.shape.rank - 1; d >= 0; --d) {
      const auto at = static_cast<size_t>(d);
      if (++index[at] < v.shape[at]) break;
      index[at] = 0;
    }
  }
}

double& element(const View& v, const std::array<int64_t, Shape::kMaxRank>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < static_cast<size_t>(v.shape.rank); ++d) offset += index[d] * v.steps[d];
  return *static_cast<double*>(v.at(offset));
}

}  // namespace

TEST_CASE("elementwise operations on random strided and broadcast views agree with plain indexing") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    INFO("seed " << seed);
    const auto ndim = static_cast<int>(rng.below(6));
    const auto shape = random_shape(rng, ndim);
    const Sample out = sample_of(rng, shape);
    Sample a = sample_of(rng, shape);
    auto thin = shape;
    for (int d = 0; d < ndim; ++d) {
      if (rng.below(3) == 0) thin[static_cast<size_t>(d)] = 1;
    }
    const Sample b = sample_of(rng, thin);
    View wide;
    REQUIRE(broadcast_to(b.view, out.view, wide));
    for (const Kernels* table : tables()) {
      INFO(table->isa);
      binary(*table, Binary::sub, out.view, a.view, wide);
      each(out.view, [&](auto i) { REQUIRE(element(out.view, i) == element(a.view, i) - element(wide, i)); });
      copy(*table, out.view, wide);
      each(out.view, [&](auto i) { REQUIRE(element(out.view, i) == element(wide, i)); });
      axpy(*table, 0.5, wide, out.view);
      each(out.view, [&](auto i) { REQUIRE(element(out.view, i) == 1.5 * element(wide, i)); });
      unary(*table, Unary::square, a.view, a.view);
      each(out.view, [&](auto i) { REQUIRE(element(a.view, i) >= 0); });
      fill(*table, out.view, 3);
      CHECK(reduce_all(*table, Reduction::sum, out.view) == 3.0 * static_cast<double>(out.view.size()));
      CHECK(is_finite(*table, out.view));
    }
  }
}

TEST_CASE("a write to a view does not change its gaps") {
  Rng rng(5);
  const Shape shape = {4, 5};
  Sample s = sample_of(rng, shape);
  s.view.steps = {12, 2};
  s.storage.assign(60, 7);
  s.view.data = s.storage.data();
  fill(kernels(), s.view, 1);
  CHECK(std::accumulate(s.storage.begin(), s.storage.end(), 0.0) == 20 + 40 * 7);
}

TEST_CASE("reductions along any dimension of random views agree with plain loops") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    INFO("seed " << seed);
    const auto ndim = static_cast<int>(1 + rng.below(4));
    const auto shape = random_shape(rng, ndim);
    const auto dim = static_cast<int>(rng.below(static_cast<uint64_t>(ndim)));
    auto reduced = shape;
    reduced[static_cast<size_t>(dim)] = 1;
    const Sample a = sample_of(rng, shape);
    const Sample out = sample_of(rng, reduced);
    const int64_t n = shape[static_cast<size_t>(dim)];
    auto along = [&](auto index, auto f) {
      for (index[static_cast<size_t>(dim)] = 0; index[static_cast<size_t>(dim)] < n;
           ++index[static_cast<size_t>(dim)]) {
        f(element(a.view, index), index[static_cast<size_t>(dim)]);
      }
    };
    for (const Kernels* table : tables()) {
      reduce_dim(*table, Reduction::mean, a.view, dim, out.view);
      each(out.view, [&](auto index) {
        double sum = 0;
        along(index, [&](double x, int64_t) { sum += x; });
        if (n > 0) REQUIRE(element(out.view, index) == Approx(sum / static_cast<double>(n)).margin(1e-12));
        if (n == 0) REQUIRE(std::isnan(element(out.view, index)));
      });
      reduce_dim(*table, Reduction::max, a.view, dim, out.view);
      each(out.view, [&](auto index) {
        double most = -std::numeric_limits<double>::infinity();
        along(index, [&](double x, int64_t) { most = std::max(most, x); });
        REQUIRE(element(out.view, index) == most);
      });
      if (n == 0) continue;
      arg_max_dim(*table, a.view, dim, true, out.view);
      each(out.view, [&](auto index) {
        double least = std::numeric_limits<double>::infinity();
        int64_t at = -1;
        along(index, [&](double x, int64_t i) {
          if (x < least) at = i;
          least = std::min(least, x);
        });
        REQUIRE(element(out.view, index) == static_cast<double>(at));
      });
    }
  }
}

TEST_CASE("reductions of whole views agree with plain loops, with and without gaps") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    INFO("seed " << seed);
    const auto ndim = static_cast<int>(rng.below(4));
    const auto shape = random_shape(rng, ndim);
    const Sample a = sample_of(rng, shape);
    double sum = 0;
    double squares = 0;
    double least = std::numeric_limits<double>::infinity();
    each(a.view, [&](auto index) {
      sum += element(a.view, index);
      squares += element(a.view, index) * element(a.view, index);
      least = std::min(least, element(a.view, index));
    });
    for (const Kernels* table : tables()) {
      CHECK(reduce_all(*table, Reduction::sum, a.view) == Approx(sum).margin(1e-12));
      CHECK(reduce_all(*table, Reduction::norm, a.view) == Approx(std::sqrt(squares)));
      CHECK(reduce_all(*table, Reduction::min, a.view) == least);
    }
  }
}

TEMPLATE_TEST_CASE("sums are accurate and have the same bits on every instruction set", "", float, double) {
  Rng rng(41);
  for (int64_t n : {0, 1, 31, 32, 33, 4095, 4096, 4097, 100000}) {
    auto values = normals<TestType>(rng, n * 3 + 1);
    long double exact = 0;
    for (int64_t i = 0; i < n; ++i) exact += values[static_cast<size_t>(i * 3)];
    std::vector<TestType> packed(static_cast<size_t>(n) + 1);
    for (int64_t i = 0; i < n; ++i) packed[static_cast<size_t>(i) + 1] = values[static_cast<size_t>(i * 3)];
    const double wanted = tables().front()->reduce(Reduce::sum, dtype_of<TestType>, n, values.data(), 3);
    const double scale = sizeof(TestType) == 4 ? 1e-4 : 1e-12;
    CHECK(std::abs(wanted - static_cast<double>(exact)) <= scale * std::sqrt(static_cast<double>(n)));
    for (const Kernels* table : tables()) {
      INFO(table->isa << ", n " << n);
      CHECK(table->reduce(Reduce::sum, dtype_of<TestType>, n, values.data(), 3) == wanted);
      CHECK(table->reduce(Reduce::sum, dtype_of<TestType>, n, packed.data() + 1, 1) == wanted);
    }
  }
}

TEST_CASE("maximum, minimum and argmax return NaN if there is one") {
  for (const Kernels* table : tables()) {
    for (size_t at : {size_t{0}, size_t{40}, size_t{99}}) {
      std::vector<float> values(100, 1);
      values[50] = 2;
      values[at] = std::numeric_limits<float>::quiet_NaN();
      CHECK(std::isnan(table->reduce(Reduce::max, Dtype::f32, 100, values.data(), 1)));
      CHECK(std::isnan(table->reduce(Reduce::min, Dtype::f32, 100, values.data(), 1)));
      CHECK(table->arg_max(Dtype::f32, 100, values.data(), 1, false) == static_cast<int64_t>(at));
      double total = 5;
      table->reduce_rows(Reduce::max, Dtype::f32, 1, &total, &values[at], 1);
      CHECK(std::isnan(total));
    }
  }
}

TEMPLATE_TEST_CASE("argmax is the first largest element at every position, along either dimension and with gaps", "",
                   float, double) {
  using T = TestType;
  const uint64_t seed = 11;
  Rng rng(seed);
  for (int64_t n : {1, 2, 63, 64, 65, 4095, 4097, 9000}) {
    for (int64_t step : {1, 2}) {
      auto values = normals<T>(rng, n * step);
      for (T& x : values) x = std::round(x * 2);  // many elements are equal
      if (rng.below(4) == 0) values.assign(values.size(), -std::numeric_limits<T>::infinity());
      for (bool smallest : {false, true}) {
        int64_t wanted = 0;
        for (int64_t i = 1; i < n; ++i) {
          const T x = values[static_cast<size_t>(i * step)];
          const T best = values[static_cast<size_t>(wanted * step)];
          if (smallest ? x < best : x > best) wanted = i;
        }
        for (const Kernels* table : tables()) {
          INFO(table->isa << ", seed " << seed << ", n " << n << ", step " << step);
          CHECK(table->arg_max(dtype_of<T>, n, values.data(), step, smallest) == wanted);
        }
      }
    }
  }
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> rows = {1, 5, kNan, 2, 5, 7, 2, kNan, kNan, 0, 9, 1};  // 4 rows of 3
  const Shape shape = {4, 3};
  const Shape one_row = {1, 3};
  std::vector<T> at(3);
  for (const Kernels* table : tables()) {
    arg_max_dim(*table, row_major(rows.data(), dtype_of<T>, shape), 0, false,
                row_major(at.data(), dtype_of<T>, one_row));
    CHECK(at == std::vector<T>{1, 2, 0});
    arg_max_dim(*table, row_major(rows.data(), dtype_of<T>, shape), 0, true,
                row_major(at.data(), dtype_of<T>, one_row));
    CHECK(at == std::vector<T>{3, 2, 0});
  }
}

TEST_CASE("shapes broadcast as NumPy's do") {
  Shape out;
  REQUIRE(broadcast_shapes({8, 1, 6, 1}, {7, 1, 5}, out));
  CHECK(out == Shape{8, 7, 6, 5});
  REQUIRE(broadcast_shapes({}, {3}, out));
  CHECK(out == Shape{3});
  REQUIRE(broadcast_shapes({0}, {1}, out));
  CHECK(out == Shape{0});
  CHECK_FALSE(broadcast_shapes({2}, {3}, out));
  CHECK_FALSE(broadcast_shapes({0}, {3}, out));
  View wide;
  CHECK_FALSE(broadcast_to(row_major(nullptr, Dtype::f32, {2, 3}), row_major(nullptr, Dtype::f32, {3}), wide));
}

TEST_CASE("overlaps detects views that share memory without being the same") {
  std::vector<double> storage(20);
  const Shape shape = {5};
  const View a = row_major(storage.data(), Dtype::f64, shape);
  const View shifted = row_major(storage.data() + 1, Dtype::f64, shape);
  const View apart = row_major(storage.data() + 5, Dtype::f64, shape);
  CHECK_FALSE(overlaps(a, a));
  CHECK(overlaps(a, shifted));
  CHECK_FALSE(overlaps(a, apart));
}

TEST_CASE("closeness treats infinities and NaN as documented") {
  std::vector<double> x{1, INFINITY, NAN};
  std::vector<double> y{1.001, INFINITY, NAN};
  const Shape two = {2};
  const Shape three = {3};
  auto view = [](std::vector<double>& v, const Shape& shape) { return row_major(v.data(), Dtype::f64, shape); };
  const Kernels* k = &kernels();
  CHECK(all_close(*k, view(x, two), view(y, two), 0, 0.01, false));
  CHECK_FALSE(all_close(*k, view(x, two), view(y, two), 0, 0.0001, false));
  CHECK_FALSE(all_close(*k, view(x, three), view(y, three), 0, 0.01, false));
  CHECK(all_close(*k, view(x, three), view(y, three), 0, 0.01, true));
  y[1] = 5;
  CHECK_FALSE(all_close(*k, view(x, two), view(y, two), 1, 1, false));
  CHECK_FALSE(all_close(*k, view(y, two), view(x, two), 1, 1, false));
  std::vector<float> narrow{1.001F, 5};
  CHECK(all_close(*k, view(y, two), row_major(narrow.data(), Dtype::f32, two), 0, 1e-6, false));
  CHECK_FALSE(all_close(*k, view(y, two), row_major(narrow.data(), Dtype::f32, two), 0, 0, false));
  std::vector<double> many(10001, 1);
  const Shape all = {10001};
  auto changed = many;
  CHECK(all_close(*k, view(many, all), view(changed, all), 0, 0, false));
  changed[10000] = 1 + 1e-15;
  CHECK_FALSE(all_close(*k, view(many, all), view(changed, all), 0, 0, false));
}
