#include "host/sim/student_t.hpp"

#include <cmath>

#include "host/base/elementary.hpp"

namespace actorhost {

namespace {

// log Gamma(n / 2), by Gamma(x + 1) = x Gamma(x) below and Stirling's series above.
double log_gamma_half(uint32_t n) noexcept {
  double below = 0;
  for (; n < 24; n += 2) below += log_of(n / 2.0);
  const double x = n / 2.0;
  const double y = 1 / (x * x);
  const double series = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188))))) / x;
  constexpr double kHalfLog2Pi = 0.91893853320467274178;
  return (x - 0.5) * log_of(x) - x + kHalfLog2Pi + series - below;
}

// The regularised incomplete beta function I_x(a, b) for x < (a + 1) / (a + b + 2), by Lentz's continued fraction.
double incomplete_beta(double x, double a, double b, double log_beta) noexcept {
  if (x <= 0) return 0;
  const double front = exp_of(a * log_of(x) + b * log_of(1 - x) - log_beta) / a;
  double c = 1;
  double d = 1 / (1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 2000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    const double factor = c * d;
    fraction *= factor;
    if (std::abs(factor - 1) < 1e-15) break;
  }
  return front * fraction;
}

}  // namespace

double student_t_cdf(double t, uint32_t degrees) noexcept {
  const double v = degrees;
  const double x = v / (v + t * t);
  const double log_beta = log_gamma_half(degrees) + log_gamma_half(1) - log_gamma_half(degrees + 1);
  const double a = v / 2;
  // The probability outside (-t, t).
  const double outside =
      x < (a + 1) / (a + 2.5) ? incomplete_beta(x, a, 0.5, log_beta) : 1 - incomplete_beta(1 - x, 0.5, a, log_beta);
  return t > 0 ? 1 - outside / 2 : outside / 2;
}

double student_t_quantile(double p, uint32_t degrees) noexcept {
  if (p == 0.5) return 0;
  if (p < 0.5) return -student_t_quantile(1 - p, degrees);
  double high = 1;
  while (student_t_cdf(high, degrees) < p && high < 1e300) high *= 2;
  double low = 0;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_cdf(middle, degrees) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace actorhost
