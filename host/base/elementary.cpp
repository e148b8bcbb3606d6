#include "host/base/elementary.hpp"

#include <cmath>
#include <limits>

namespace actorhost {

namespace {

// log(x) for 1 <= x <= 2, by the series of the inverse hyperbolic tangent.
constexpr double series_log(double x) {
  const double s = (x - 1) / (x + 1);
  double sum = 0;
  for (int k = 41; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
  return 2 * s * sum;
}

constexpr LogTable make_log_table() {
  LogTable table{};
  for (int j = 0; j <= 128; ++j) {
    const double point = 1 + j / 128.0;
    table.entries[j] = {1 / point, j == 128 ? kLn2 : series_log(point)};
  }
  return table;
}

// ln 2 in two parts; the first ends in zero bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

constinit const LogTable kLogTable = make_log_table();

double log_of(double x) noexcept {
  if (x >= std::numeric_limits<double>::min() && x < std::numeric_limits<double>::infinity()) return log_of_normal(x);
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x > 1) return x;                             // infinity
  return log_of_normal(x * 0x1.0p60) - 60 * kLn2;  // a denormal
}

double exp_of(double x) noexcept {
  if (x != x) return x;
  if (x > 709.8) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  const double k = std::nearbyint(x * (1 / kLn2));
  const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= 0.347
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = sum * r / n + 1;
  const int whole = static_cast<int>(k);
  // In two steps, since 2^whole alone may not be a normal number.
  return std::ldexp(std::ldexp(sum, whole / 2), whole - whole / 2);
}

double pow_of(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  return exp_of(y * log_of(x));
}

double log_factorial(double k) noexcept {
  if (k < 16) {
    double product = 1;
    for (int i = 2; i <= static_cast<int>(k); ++i) product *= i;
    return log_of_normal(product);
  }
  constexpr double kHalfLog2Pi = 0.91893853320467274178;
  const double inverse = 1 / k;
  const double square = inverse * inverse;
  const double tail = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
  return (k + 0.5) * log_of_normal(k) - k + kHalfLog2Pi + tail;  // Stirling's series
}

}  // namespace actorhost
