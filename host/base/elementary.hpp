#pragma once
// Logarithm, exponential and power that give the same bits on every machine, unlike the C library's. They use only + -
// * / and comparisons, in a fixed order, never contracted to fused multiply-adds (-ffp-contract=off). Pure functions.
// The error is at most 4 ulp of the true value, or 4e-16 where that bound is less.

#include <bit>
#include <cstdint>

namespace actorhost {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// For each j of 0 .. 128, the inverse and the logarithm of 1 + j/128.
struct LogTable {
  struct Entry {
    double inverse;
    double log;
  };
  Entry entries[129];
};
extern const LogTable kLogTable;

/// Natural logarithm of a positive normal number. For any other number use log_of.
inline double log_of_normal(double x) noexcept {
  const auto bits = std::bit_cast<uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52) - 1023;
  const double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  const auto j = static_cast<unsigned>(((bits >> 44) & 0xff) + 1) >> 1;  // nearest of the 129 points of [1, 2]
  const LogTable::Entry& entry = kLogTable.entries[j];
  const double r = mantissa * entry.inverse - 1;  // |r| < 1/255
  const double r2 = r * r;
  // log(1 + r) to r^7, in pairs.
  const double tail = (r * (1.0 / 3) - 0.5) + r2 * ((r * (1.0 / 5) - 0.25) + r2 * (r * (1.0 / 7) - (1.0 / 6)));
  return (exponent * kLn2 + entry.log) + (r + r2 * tail);
}

/// Natural logarithm; -inf for 0, NaN for negative numbers.
double log_of(double x) noexcept;
/// e^x; 0 and infinity beyond the range of a double.
double exp_of(double x) noexcept;
/// x^y for x >= 0.
double pow_of(double x, double y) noexcept;
/// Logarithm of k!, for an integer k >= 0.
double log_factorial(double k) noexcept;

}  // namespace actorhost
