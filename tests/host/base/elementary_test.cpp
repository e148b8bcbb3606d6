#include "host/base/elementary.hpp"

#include <bit>

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace {

// The distance of `value` from the C library's `reference`: in units of the last place, or of 1e-16 near 0.
double distance(double value, double reference) {
  const double unit = std::max(std::abs(reference) * std::numeric_limits<double>::epsilon(), 1e-16);
  return std::abs(value - reference) / unit;
}

}  // namespace

TEST_CASE("the logarithm agrees with the C library to the last digits, over the whole range") {
  Rng rng(1);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const uint64_t bits = rng.next() & 0x7fffffffffffffffULL;
    const auto any = std::bit_cast<double>(bits);
    if (!std::isfinite(any) || any == 0) continue;
    worst = std::max(worst, distance(log_of(any), std::log(any)));
    const double near_one = 0.5 + 1.5 * rng.uniform();
    worst = std::max(worst, distance(log_of(near_one), std::log(near_one)));
  }
  CHECK(worst <= 4);
  CHECK(log_of(1) == 0);
  CHECK(log_of(0) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(log_of(-1)));
  CHECK(std::isinf(log_of(std::numeric_limits<double>::infinity())));
}

TEST_CASE("the exponential agrees with the C library to the last digits") {
  Rng rng(2);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = -700 + 1400 * rng.uniform();
    worst = std::max(worst, distance(exp_of(x), std::exp(x)));
    worst = std::max(worst, distance(exp_of(x / 700), std::exp(x / 700)));
  }
  CHECK(worst <= 4);
  CHECK(exp_of(0) == 1);
  CHECK(std::isinf(exp_of(710)));
  CHECK(exp_of(-746) == 0);
  CHECK(distance(exp_of(-744), std::exp(-744)) <= 1);
}

TEST_CASE("a power is within the error of the logarithm times its exponent") {
  Rng rng(3);
  for (int i = 0; i < 100000; ++i) {
    const double x = 10 * rng.uniform();
    const double y = -20 + 40 * rng.uniform();
    const double expected = std::pow(x, y);
    if (!std::isfinite(expected) || expected == 0) continue;
    CHECK(std::abs(pow_of(x, y) - expected) <= 1e-13 * expected);
  }
  CHECK(pow_of(0, 2) == 0);
  CHECK(pow_of(0, 0) == 1);
}

TEST_CASE("selected values have the same bits on every machine") {
  CHECK(std::bit_cast<uint64_t>(log_of(0.1)) == 0xc0026bb1bbb55515);
  CHECK(std::bit_cast<uint64_t>(log_of(3.0)) == 0x3ff193ea7aad030a);
  CHECK(std::bit_cast<uint64_t>(exp_of(1.0)) == 0x4005bf0a8b14576a);
  Rng rng(5, 7);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += rng.exponential() + rng.normal() + rng.gamma(0.7, 2) + rng.gamma(3, 1);
  CHECK(std::bit_cast<uint64_t>(sum) == 0x40b5130c23bed25a);
}

TEST_CASE("the logarithm of a factorial agrees with the C library's gamma function") {
  double worst = 0;
  for (double k = 0; k < 1e9; k = std::floor(k * 1.1) + 1) {
    worst = std::max(worst, distance(log_factorial(k), std::lgamma(k + 1)));
  }
  CHECK(worst <= 8);
}
