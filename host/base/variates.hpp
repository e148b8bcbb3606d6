#pragma once
// Random variates from a source of random bits, the same on every machine (elementary.hpp). A source derives from
// Variates<itself> and has `uint64_t next()`. The distributions of the standard library differ between implementations,
// so they are not used.

#include <cmath>
#include <cstdint>

#include "host/base/elementary.hpp"

namespace actorhost {

/// Above this mean, rounding would show in the probabilities.
inline constexpr double kMaxPoissonMean = 1e9;

template <class Source>
class Variates {
 public:
  /// Uniform in [0, 1), 53 bits.
  double uniform() noexcept { return static_cast<double>(self().next() >> 11) * 0x1.0p-53; }

  /// Uniform in 0 .. bound-1 without bias (Lemire 2019); bound > 0.
  uint64_t below(uint64_t bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(self().next()) * bound;
    auto low = static_cast<uint64_t>(product);
    if (low < bound) {
      const uint64_t threshold = -bound % bound;
      while (low < threshold) {
        product = static_cast<Wide>(self().next()) * bound;
        low = static_cast<uint64_t>(product);
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  /// Exponential with the given mean.
  double exponential(double mean = 1) noexcept { return -mean * log_of_normal(1 - uniform()); }

  /// Standard normal (polar method); discards the second of each pair.
  double normal() noexcept {
    double second = 0;
    return normal_pair(second);
  }

  /// A pair of standard normals: returns the first, stores the second.
  double normal_pair(double& second) noexcept {
    double u = 0;
    double v = 0;
    double r = 0;
    do {
      u = 2 * uniform() - 1;
      v = 2 * uniform() - 1;
      r = u * u + v * v;
    } while (r >= 1 || r == 0);
    const double scale = std::sqrt(-2 * log_of(r) / r);
    second = v * scale;
    return u * scale;
  }

  /// Gamma(shape, scale), shape > 0 (Marsaglia and Tsang 2000).
  double gamma(double shape, double scale) noexcept {
    if (shape < 1) {
      const double boost = pow_of(1 - uniform(), 1 / shape);
      return gamma(shape + 1, scale) * boost;
    }
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = self().normal();
      double v = 1 + c * x;
      if (v <= 0) continue;
      v = v * v * v;
      if (log_of(1 - uniform()) < 0.5 * x * x + d - d * v + d * log_of(v)) return d * v * scale;
    }
  }

  /// Poisson, 0 <= mean <= kMaxPoissonMean: by inversion, or for larger means by transformed rejection (Hoermann 1993,
  /// PTRS).
  double poisson(double mean) noexcept {
    if (mean < 10) {
      const double u = uniform();
      double p = exp_of(-mean);
      double k = 0;
      for (double below = p; u >= below && k < 100; below += p) p *= mean / ++k;
      return k;
    }
    const double b = 0.931 + 2.53 * std::sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double log_inverse_alpha = log_of(1.1239 + 1.1328 / (b - 3.4));
    const double least = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
      const double u = uniform() - 0.5;
      const double v = uniform();
      const double edge = 0.5 - std::abs(u);
      const double k = std::floor((2 * a / edge + b) * u + mean + 0.43);
      if (edge >= 0.07 && v <= least) return k;
      if (k < 0 || (edge < 0.013 && v > edge)) continue;
      const double accept = log_of(v) + log_inverse_alpha - log_of(a / (edge * edge) + b);
      if (accept <= k * log_of(mean) - mean - log_factorial(k)) return k;
    }
  }

 private:
  Source& self() noexcept { return static_cast<Source&>(*this); }
};

}  // namespace actorhost
