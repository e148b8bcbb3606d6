#include "host/kernel/matmul.hpp"

#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

template <typename T>
struct Matrix {
  std::vector<T> storage;
  View view;

  T at(int64_t i, int64_t j) const { return storage[static_cast<size_t>(i * view.steps[0] + j * view.steps[1])]; }
};

// A matrix rows x columns in one of four layouts: plain, transposed, with gaps between rows, without a step of 1.
template <typename T>
Matrix<T> matrix(Rng& rng, int64_t rows, int64_t columns, uint64_t layout) {
  Matrix<T> m;
  const Shape shape = {rows, columns};
  m.view = row_major(nullptr, dtype_of<T>, shape);
  if (layout == 1) m.view.steps = {1, std::max<int64_t>(rows, 1)};
  if (layout == 2) m.view.steps = {columns + 3, 1};
  if (layout == 3) m.view.steps = {2 * columns + 1, 2};
  m.storage = normals<T>(rng, rows * m.view.steps[0] + columns * m.view.steps[1] + 1);
  m.view.data = m.storage.data();
  return m;
}

template <typename T>
void compare(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& before, const Matrix<T>& c, double alpha,
             bool accumulate) {
  const int64_t depth = a.view.shape[1];
  const double tolerance = (sizeof(T) == 4 ? 3e-6 : 5e-15) * std::sqrt(static_cast<double>(depth) + 1) * 4;
  for (int64_t i = 0; i < c.view.shape[0]; ++i) {
    for (int64_t j = 0; j < c.view.shape[1]; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < depth; ++p) sum += static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
      const double wanted = alpha * sum + (accumulate ? static_cast<double>(before.at(i, j)) : 0);
      if (std::abs(wanted - static_cast<double>(c.at(i, j))) > tolerance) {
        FAIL("element " << i << ", " << j << ": " << c.at(i, j) << ", wanted " << wanted);
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("matmul agrees with three loops for every layout and for empty sides", "", float, double) {
  for (const Kernels* table : tables()) {
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      Rng rng(seed);
      const bool large = seed % 250 == 0;  // several blocks of columns and of the sum
      const int64_t m = often_some(rng, 70);
      const int64_t n = often_some(rng, large ? 2300 : 70);
      const int64_t k = often_some(rng, large ? 700 : 300);
      const auto a = matrix<TestType>(rng, m, k, rng.below(4));
      const auto b = matrix<TestType>(rng, k, n, rng.below(4));
      auto c = matrix<TestType>(rng, m, n, rng.below(4));
      const auto before = c;
      const bool accumulate = rng.below(2) == 0;
      const double alpha = rng.below(2) == 0 ? 1 : -0.5;
      INFO(table->isa << ", seed " << seed << ", " << m << " x " << k << " x " << n);
      matmul(*table, a.view, b.view, c.view, alpha, accumulate);
      compare(a, b, before, c, alpha, accumulate);
    }
  }
}

TEMPLATE_TEST_CASE("a product is the same bits for every number of threads and with AVX2 as with AVX-512", "", float,
                   double) {
  Rng rng(77);
  for (auto [m, n, k] : {std::array<int64_t, 3>{130, 700, 280}, {700, 130, 280}, {97, 1200, 64}, {389, 389, 260}}) {
    for (uint64_t layout : {m > n ? 0U : 3U, m == n ? 1U : 2U}) {
      const auto a = matrix<TestType>(rng, m, k, layout & 1);
      const auto b = matrix<TestType>(rng, k, n, layout >> 1);
      auto c = matrix<TestType>(rng, m, n, 0);
      std::vector<TestType> fused;  // of the first table with fused multiply-add
      for (const Kernels* table : tables()) {
        matmul(*table, a.view, b.view, c.view);
        const auto wanted = c.storage;
        if (table != tables().front()) {
          if (fused.empty()) fused = wanted;
          CHECK(fused == wanted);
        }
        for (int threads : {2, 3, 7}) {
          ThreadPool pool(threads);
          matmul(*table, a.view, b.view, c.view, 1, false, &pool);
          INFO(table->isa << ", " << m << " x " << k << " x " << n << ", layout " << layout << ", " << threads);
          CHECK(c.storage == wanted);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a product with a vector is accurate for every layout, with and without gaps, and over threads", "",
                   float, double) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 70000}, {1, 1300, 600}, {1300, 1, 600}, {3, 1, 5000}, {1, 3, 5000}, {40, 1, 0}}) {
    for (uint64_t layout = 0; layout < 16; ++layout) {
      const uint64_t seed = layout + 1;
      Rng rng(seed);
      const auto a = matrix<TestType>(rng, m, k, layout & 3);
      const auto b = matrix<TestType>(rng, k, n, layout >> 2);
      auto c = matrix<TestType>(rng, m, n, layout & 1 ? 2 : 3);
      const auto before = c;
      for (const Kernels* table : tables()) {
        INFO(table->isa << ", seed " << seed << ", " << m << " x " << k << " x " << n << ", layout " << layout);
        c = before;
        c.view.data = c.storage.data();
        matmul(*table, a.view, b.view, c.view, -0.5, true);
        compare(a, b, before, c, -0.5, true);
        const auto wanted = c.storage;
        c.storage = before.storage;
        c.view.data = c.storage.data();
        ThreadPool pool(3);
        matmul(*table, a.view, b.view, c.view, -0.5, true, &pool);
        CHECK(c.storage == wanted);
      }
    }
  }
}

TEST_CASE("a product does not depend on the addresses of its operands") {
  Rng rng(3);
  const auto a = normals<float>(rng, 40 * 50 + 16);
  const auto b = normals<float>(rng, 50 * 30);
  const Shape sa = {40, 50};
  const Shape sb = {50, 30};
  const Shape sc = {40, 30};
  for (const Kernels* table : tables()) {
    std::vector<float> first;
    for (size_t shift = 0; shift < 16; ++shift) {
      std::vector<float> moved(a.size() + 16);
      std::copy_n(a.begin(), 2000, moved.begin() + static_cast<int64_t>(shift));
      std::vector<float> c(1200 + shift);
      auto right = b;
      matmul(*table, row_major(moved.data() + shift, Dtype::f32, sa), row_major(right.data(), Dtype::f32, sb),
             row_major(c.data() + shift, Dtype::f32, sc));
      const std::vector<float> got(c.begin() + static_cast<int64_t>(shift), c.end());
      if (first.empty()) first = got;
      CHECK(got == first);
    }
  }
}

TEST_CASE("NaN and infinity propagate to the product") {
  for (const Kernels* table : tables()) {
    std::vector<float> a(12, 1);
    std::vector<float> b(12, 1);
    std::vector<float> c(9);
    a[0] = NAN;
    a[4] = INFINITY;
    const Shape sa = {3, 4};
    const Shape sb = {4, 3};
    const Shape sc = {3, 3};
    matmul(*table, row_major(a.data(), Dtype::f32, sa), row_major(b.data(), Dtype::f32, sb),
           row_major(c.data(), Dtype::f32, sc));
    CHECK(std::isnan(c[0]));
    CHECK(c[3] == INFINITY);
    CHECK(c[6] == 4);
  }
}

TEST_CASE("a pool runs each task once, in repeated runs") {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> hits(37);
    pool.run(37, [&](int i) { ++hits[static_cast<size_t>(i)]; });
    for (const auto& hit : hits) REQUIRE(hit == 1);
  }
}
