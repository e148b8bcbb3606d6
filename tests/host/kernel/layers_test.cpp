// Kernels of network layers besides products, convolutions and pooling, compared with plain loops in double.

#include "host/kernel/normalise.hpp"
#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

template <typename T>
bool near(T found, double wanted, double tolerance) {
  return std::abs(static_cast<double>(found) - wanted) <= tolerance * (1 + std::abs(wanted));
}

template <typename T>
constexpr double kTolerance = sizeof(T) == 4 ? 2e-5 : 1e-11;

// Moments, results and gradients of one normalisation, from all rows at once.
template <typename T>
struct Naive {
  std::vector<double> mean, variance, y, x_grad, gamma_grad, beta_grad;

  Naive(int64_t rows, int64_t channels, const std::vector<T>& x, const std::vector<T>& dy, const std::vector<T>& gamma,
        const std::vector<T>& beta, double epsilon, bool of_batch) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = [&](int64_t r) { return static_cast<size_t>(r * channels + c); };
      const auto n = static_cast<double>(rows);
      double m = 0, v = 0, sum = 0, product = 0;
      for (int64_t r = 0; r < rows; ++r) m += static_cast<double>(x[at(r)]) / n;
      for (int64_t r = 0; r < rows; ++r) v += std::pow(static_cast<double>(x[at(r)]) - m, 2) / n;
      const double deviation = std::sqrt(v + epsilon);
      for (int64_t r = 0; r < rows; ++r) {
        sum += static_cast<double>(dy[at(r)]);
        product += static_cast<double>(dy[at(r)]) * (static_cast<double>(x[at(r)]) - m) / deviation;
      }
      mean.push_back(m);
      variance.push_back(v);
      gamma_grad.push_back(product);
      beta_grad.push_back(sum);
      y.resize(x.size());
      x_grad.resize(x.size());
      const auto scale = static_cast<double>(gamma[static_cast<size_t>(c)]) / deviation;
      for (int64_t r = 0; r < rows; ++r) {
        const double normal = (static_cast<double>(x[at(r)]) - m) / deviation;
        y[at(r)] = static_cast<double>(gamma[static_cast<size_t>(c)]) * normal +
                   static_cast<double>(beta[static_cast<size_t>(c)]);
        const double through = of_batch ? (sum + normal * product) / n : 0;
        x_grad[at(r)] = scale * (static_cast<double>(dy[at(r)]) - through);
      }
    }
  }
};

template <typename T>
void require_near(const std::vector<T>& found, const std::vector<double>& wanted, double tolerance) {
  REQUIRE(found.size() >= wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!near(found[i], wanted[i], tolerance)) FAIL("element " << i << ": " << found[i] << ", wanted " << wanted[i]);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("normalisation agrees with plain loops on 1000 random shapes", "", float, double) {
  using T = TestType;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed);
    const int64_t rows = often_some(rng, 60);
    const int64_t channels = seed % 10 == 0 ? from_one(rng, 1500) : often_some(rng, 40);
    const bool of_batch = rng.below(2) == 0;
    const auto x = normals<T>(rng, rows * channels);
    const auto dy = normals<T>(rng, rows * channels);
    const auto gamma = normals<T>(rng, channels);
    const auto beta = normals<T>(rng, channels);
    const double epsilon = 1e-2;
    const Naive<T> wanted(rows, channels, x, dy, gamma, beta, epsilon, of_batch);
    std::vector<T> first_y;
    for (const Kernels* table : tables()) {
      INFO(table->isa << ", seed " << seed << ", " << rows << " x " << channels);
      const Channels c{*table, dtype_of<T>, rows, channels};
      std::vector<T> mean(gamma.size()), variance(gamma.size()), y(x.size()), dx(x.size());
      std::vector<T> dgamma(gamma.size()), dbeta(gamma.size());
      channel_moments(c, x.data(), mean.data(), variance.data());
      if (rows == 0) continue;
      require_near(mean, wanted.mean, kTolerance<T>);
      require_near(variance, wanted.variance, kTolerance<T>);
      const Normalisation by{mean.data(), variance.data(), epsilon, gamma.data(), beta.data()};
      normalise(c, by, x.data(), y.data());
      require_near(y, wanted.y, 10 * kTolerance<T>);
      normalise_grad(c, by, of_batch, x.data(), dy.data(), dx.data(), dgamma.data(), dbeta.data());
      require_near(dx, wanted.x_grad, 30 * kTolerance<T>);
      require_near(dgamma, wanted.gamma_grad, 30 * kTolerance<T>);
      require_near(dbeta, wanted.beta_grad, 30 * kTolerance<T>);
      if (first_y.empty()) first_y = y;
      if (!y.empty()) REQUIRE(std::memcmp(first_y.data(), y.data(), y.size() * sizeof(T)) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("gelu and the gradient of softmax agree with the C library's", "", float, double) {
  using T = TestType;
  Rng rng(5);
  const auto x = normals<T>(rng, 500, 3);
  const auto g = normals<T>(rng, 500);
  for (const Kernels* table : tables()) {
    std::vector<T> y(x.size());
    table->unary(Unary::gelu, dtype_of<T>, 500, y.data(), 1, x.data(), 1);
    for (size_t i = 0; i < y.size(); ++i) REQUIRE(near(y[i], gelu(static_cast<double>(x[i])), kTolerance<T>));
    table->binary(Binary::gelu_grad, dtype_of<T>, 500, y.data(), 1, g.data(), 1, x.data(), 1);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<double>(x[i]);
      const double slope = (gelu(at + 1e-6) - gelu(at - 1e-6)) / 2e-6;
      REQUIRE(near(y[i], static_cast<double>(g[i]) * slope, sizeof(T) == 4 ? 1e-4 : 1e-8));
    }
    std::vector<T> p(x.size());
    table->softmax(dtype_of<T>, 50, 10, p.data(), 10, x.data(), 10);
    table->softmax_grad(dtype_of<T>, 50, 10, y.data(), g.data(), p.data());
    for (size_t r = 0; r < 50; ++r) {
      double along = 0;
      for (size_t i = r * 10; i < r * 10 + 10; ++i) along += static_cast<double>(g[i]) * static_cast<double>(p[i]);
      for (size_t i = r * 10; i < r * 10 + 10; ++i) {
        REQUIRE(near(y[i], static_cast<double>(p[i]) * (static_cast<double>(g[i]) - along), kTolerance<T>));
      }
    }
  }
}

TEMPLATE_TEST_CASE("dropout drops its share, and the same elements in pieces and on every instruction set", "", float,
                   double) {
  using T = TestType;
  const int64_t n = 100'000;
  const std::vector<T> x(static_cast<size_t>(n), T{1});
  for (const double rate : {0.0, 0.1, 0.5, 0.99}) {
    const auto least = static_cast<uint32_t>(rate * 0x1p32);
    std::vector<T> first;
    for (const Kernels* table : tables()) {
      std::vector<T> y(x.size());
      table->dropout(dtype_of<T>, 777, y.data(), x.data(), 42, 0, least, 2);
      table->dropout(dtype_of<T>, n - 777, y.data() + 777, x.data(), 42, 777, least, 2);
      if (first.empty()) first = y;
      REQUIRE(y == first);
    }
    double dropped = 0;
    double together = 0;  // with the next element
    for (size_t i = 0; i + 1 < first.size(); ++i) {
      REQUIRE((first[i] == 0 || first[i] == 2));
      dropped += first[i] == 0;
      together += first[i] == 0 && first[i + 1] == 0;
    }
    const double deviation = std::sqrt(static_cast<double>(n) * rate * (1 - rate));
    REQUIRE(std::abs(dropped - rate * static_cast<double>(n)) <= 4 * deviation);
    REQUIRE(std::abs(together - rate * rate * static_cast<double>(n)) <= 6 * deviation);
    std::vector<T> other(x.size());
    kernels().dropout(dtype_of<T>, n, other.data(), x.data(), 43, 0, least, 2);
    REQUIRE((rate == 0 || other != first));
  }
}
