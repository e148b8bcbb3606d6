#include "host/sim/measures.hpp"

#include <algorithm>
#include <cmath>

namespace actorhost {

Moments MomentSums::moments(double scale) const noexcept {
  Moments out;
  out.count = count_;
  if (count_ == 0) return out;
  const auto n = static_cast<double>(count_);
  const double mean = sum_ / n;
  out.mean = (shift_ + mean) / scale;
  out.largest = largest_ / scale;
  const double m2 = std::max(sum2_ / n - mean * mean, 0.0);
  out.sd = std::sqrt(m2) / scale;
  // No spread, except for rounding.
  if (m2 <= 1e-12 * (mean * mean + shift_ * shift_)) return out;
  const double m3 = sum3_ / n - 3 * mean * sum2_ / n + 2 * mean * mean * mean;
  const double m4 = sum4_ / n - 4 * mean * sum3_ / n + 6 * mean * mean * sum2_ / n - 3 * mean * mean * mean * mean;
  out.skew = m3 / (m2 * std::sqrt(m2));
  out.kurtosis = m4 / (m2 * m2);
  return out;
}

}  // namespace actorhost
