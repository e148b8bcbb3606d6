#pragma once
// exp, log, tanh and sigmoid as branch-free code that the compiler vectorises, the same bits in every lane, tail and
// instruction set. Within 3 units in the last place of the exact value (tests/host/kernel/math_test.cpp); infinities,
// NaN and, for exp and log, subnormal numbers are exact cases too. Coefficients are those of the Taylor series.

#include "host/kernel/isa/isa.hpp"

namespace actorhost::kernel::AH_ISA {

template <typename T>
struct FloatBits;

template <>
struct FloatBits<float> {
  using Int = uint32_t;
  using Signed = int32_t;
  static constexpr int kMantissa = 23;
  static constexpr Int kBias = 127;
  static constexpr float kRound = 0x1.8p23F;       // adding it rounds to an integer, in the low bits
  static constexpr float kLn2High = 0x1.62e4p-1F;  // 15 bits: n * kLn2High is exact
  static constexpr float kLn2Low = 0x1.7f7d1cp-20F;
  static constexpr float kExpLow = -104, kExpHigh = 89;  // exp is 0 below, infinite above
  static constexpr float kSmallest = 0x1p-126F, kScale = 0x1p23F;
  static constexpr int kExpTerms = 7, kLogTerms = 4, kSinhTerms = 5;
};

template <>
struct FloatBits<double> {
  using Int = uint64_t;
  using Signed = int64_t;
  static constexpr int kMantissa = 52;
  static constexpr Int kBias = 1023;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42fee00000p-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kExpLow = -746, kExpHigh = 710;
  static constexpr double kSmallest = 0x1p-1022, kScale = 0x1p52;
  static constexpr int kExpTerms = 13, kLogTerms = 10, kSinhTerms = 9;
};

template <typename T>
inline typename FloatBits<T>::Int bits_of(T x) noexcept {
  return __builtin_bit_cast(typename FloatBits<T>::Int, x);
}

template <typename T>
inline T of_bits(typename FloatBits<T>::Int bits) noexcept {
  return __builtin_bit_cast(T, bits);
}

/// 1 / n!
template <typename T>
constexpr T inverse_factorial(int n) noexcept {
  double f = 1;
  for (int i = 2; i <= n; ++i) f *= i;
  return static_cast<T>(1 / f);
}

template <typename T>
inline T exp_of(T x) noexcept {
  using B = FloatBits<T>;
  x = x < B::kExpLow ? B::kExpLow : x;
  x = x > B::kExpHigh ? B::kExpHigh : x;
  const T shifted = x * static_cast<T>(0x1.71547652b82fep+0) + B::kRound;
  const T n = shifted - B::kRound;
  const T r = (x - n * B::kLn2High) - n * B::kLn2Low;
  T p = inverse_factorial<T>(B::kExpTerms);
#pragma GCC unroll 16
  for (int i = B::kExpTerms - 1; i >= 2; --i) p = p * r + inverse_factorial<T>(i);
  const T value = (p * (r * r) + r) + 1;
  // Two factors of 2^(n/2): one may be out of the exponent's range where the result is not.
  using Int = typename B::Int;
  const Int whole = bits_of(shifted) - bits_of(B::kRound);
  const Int half = (whole >> 1) | (whole & (Int{1} << (sizeof(Int) * 8 - 1)));
  const Int rest = whole - half;
  return value * of_bits<T>((half + B::kBias) << B::kMantissa) * of_bits<T>((rest + B::kBias) << B::kMantissa);
}

template <typename T>
inline T log_of(T x) noexcept {
  using B = FloatBits<T>;
  using Int = typename B::Int;
  const bool tiny = x < B::kSmallest;
  const T scaled = tiny ? x * B::kScale : x;
  // Mantissa in [sqrt(1/2), sqrt(2)), so that log(1) is exactly 0 and no digits cancel near it.
  constexpr Int kRootHalf = sizeof(T) == 4 ? Int{0x3f3504f3} : static_cast<Int>(0x3fe6a09e667f3bcd);
  const Int offset = bits_of(scaled) - kRootHalf;
  const auto exponent = static_cast<typename B::Signed>(offset) >> B::kMantissa;
  const T m = of_bits<T>((offset & ((Int{1} << B::kMantissa) - 1)) + kRootHalf);
  // exponent + kRound's integer bits, read as a number: converts without a 64-bit conversion instruction
  const T n = of_bits<T>(static_cast<Int>(exponent) + bits_of(B::kRound)) - B::kRound - (tiny ? T{B::kMantissa} : T{0});
  const T f = m - 1;
  const T s = f / (m + 1);
  const T z = s * s;
  T p = T{2} / static_cast<T>(2 * B::kLogTerms + 1);
#pragma GCC unroll 16
  for (int i = B::kLogTerms - 1; i >= 1; --i) p = p * z + T{2} / static_cast<T>(2 * i + 1);
  const T half_square = f * f * static_cast<T>(0.5);
  const T y = n * B::kLn2High + (f - (half_square - (s * (half_square + p * z) + n * B::kLn2Low)));
  constexpr T kInf = static_cast<T>(__builtin_inf());
  T result = x == kInf ? x : y;
  result = x == 0 ? -kInf : result;
  return x >= 0 ? result : static_cast<T>(__builtin_nan(""));
}

template <typename T>
inline T absolute(T x) noexcept {
  return of_bits<T>(bits_of(x) & ~(typename FloatBits<T>::Int{1} << (sizeof(T) * 8 - 1)));
}

template <typename T>
inline T with_sign_of(T magnitude, T sign) noexcept {
  constexpr auto kSign = typename FloatBits<T>::Int{1} << (sizeof(T) * 8 - 1);
  return of_bits<T>(bits_of(magnitude) | (bits_of(sign) & kSign));
}

template <typename T>
inline T tanh_of(T x) noexcept {
  const T a = absolute(x);
  // Below 0.625: sinh / cosh by their series, where 1 - 2 / (exp(2a) + 1) would cancel.
  const T z = a * a;
  constexpr int kTerms = FloatBits<T>::kSinhTerms;
  T sinh = inverse_factorial<T>(2 * kTerms + 1);
  T cosh = inverse_factorial<T>(2 * kTerms);
#pragma GCC unroll 16
  for (int i = kTerms - 1; i >= 1; --i) {
    sinh = sinh * z + inverse_factorial<T>(2 * i + 1);
    cosh = cosh * z + inverse_factorial<T>(2 * i);
  }
  const T small = (sinh * z * a + a) / (cosh * z + 1);
  const T large = 1 - 2 / (exp_of(2 * a) + 1);
  return with_sign_of(a < static_cast<T>(0.625) ? small : large, x);
}

template <typename T>
inline T sigmoid_of(T x) noexcept {
  return 1 / (1 + exp_of(-x));
}

}  // namespace actorhost::kernel::AH_ISA
