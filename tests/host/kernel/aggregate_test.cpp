// Scalar products and trimmed means, compared with plain loops.
#include "host/kernel/aggregate.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "host/base/random.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

template <typename T>
constexpr Dtype type_of = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;

template <typename T>
std::vector<std::vector<T>> random_vectors(size_t count, size_t n, Rng& rng) {
  std::vector<std::vector<T>> vectors(count, std::vector<T>(n));
  for (auto& vector : vectors) {
    for (T& x : vector) x = static_cast<T>(static_cast<double>(rng.below(20001)) / 100 - 100);
  }
  return vectors;
}

}  // namespace

TEMPLATE_TEST_CASE("a trimmed mean leaves out the extreme values of each element", "", float, double) {
  using T = TestType;
  Rng rng(17);
  for (const size_t count : std::initializer_list<size_t>{1, 2, 3, 5, 10, 64, 65, 100}) {
    for (const size_t n : std::initializer_list<size_t>{0, 1, 63, 64, 65, 200}) {
      const auto vectors = random_vectors<T>(count, n, rng);
      std::vector<const void*> pointers;
      for (const auto& vector : vectors) pointers.push_back(vector.data());
      for (const size_t trim : {size_t{0}, (count - 1) / 2, (count - 1) / 3}) {
        std::vector<T> out(n + 1, T{42});
        trimmed_mean(type_of<T>, n, pointers, trim, out.data());
        for (size_t i = 0; i < n; ++i) {
          std::vector<T> column;
          for (const auto& vector : vectors) column.push_back(vector[i]);
          std::sort(column.begin(), column.end());
          double sum = 0;
          for (size_t k = trim; k < count - trim; ++k) sum += static_cast<double>(column[k]);
          CHECK(out[i] == Approx(sum / static_cast<double>(count - 2 * trim)).margin(1e-5));
        }
        CHECK(out[n] == T{42});
      }
    }
  }
}

TEST_CASE("a trimmed mean leaves out NaN and infinite values") {
  const std::vector<float> a{NAN, 1, -INFINITY}, b{2, INFINITY, 5}, c{3, 3, 6};
  const std::vector<const void*> vectors{a.data(), b.data(), c.data()};
  std::vector<float> out(3);
  trimmed_mean(Dtype::f32, 3, vectors, 1, out.data());
  CHECK(out == std::vector<float>{3, 3, 5});
}

TEMPLATE_TEST_CASE("a scalar product is that of a plain loop", "", float, double) {
  using T = TestType;
  Rng rng(17);
  for (const size_t n : std::initializer_list<size_t>{0, 1, 7, 8, 9, 1000}) {
    const auto vectors = random_vectors<T>(2, n, rng);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += static_cast<double>(vectors[0][i]) * static_cast<double>(vectors[1][i]);
    CHECK(dot(type_of<T>, n, vectors[0].data(), vectors[1].data()) == Approx(sum).margin(1e-9));
  }
}
