#pragma once
// exp, log, tanh, sigmoid and pow of float32 as branch-free code that the compiler vectorises, with the same bits in
// every lane, tail and instruction set. Within 3 units in the last place of the exact value
// (tests/host/kernel/math_test.cpp); infinities, NaN and, for exp and log, subnormal numbers are exact too.
// Coefficients are from the Taylor series.

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
  static constexpr int kExpTerms = 7, kLogTerms = 4;
  static constexpr float kTanhOne = 10;
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
  static constexpr int kExpTerms = 13, kLogTerms = 10;
  static constexpr double kTanhOne = 20;
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
  // Two factors of 2^(n/2): a single factor may exceed the exponent range even if the result does not.
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
  // exponent + kRound's integer bits, read as a floating-point number: avoids a 64-bit conversion instruction
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
  using B = FloatBits<T>;
  // e / (e + 2) with e = exp(2 |x|) - 1, which keeps its digits near 0. |x| is limited to a value with tanh 1.
  T a = absolute(x);
  a = a > B::kTanhOne ? B::kTanhOne : a;
  const T twice = a + a;
  const T shifted = twice * static_cast<T>(0x1.71547652b82fep+0) + B::kRound;
  const T n = shifted - B::kRound;
  const T r = (twice - n * B::kLn2High) - n * B::kLn2Low;
  T p = inverse_factorial<T>(B::kExpTerms);
#pragma GCC unroll 16
  for (int i = B::kExpTerms - 1; i >= 2; --i) p = p * r + inverse_factorial<T>(i);
  const T part = p * (r * r) + r;
  const T scale = of_bits<T>((bits_of(shifted) - bits_of(B::kRound) + B::kBias) << B::kMantissa);
  const T e = scale * part + (scale - 1);
  return with_sign_of(e / (e + 2), x);
}

/// The binary logarithm of a float32 of at least 0, with a relative error below 2^-39.
inline double binary_log(double x) noexcept {
  using B = FloatBits<double>;
  constexpr uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const uint64_t offset = bits_of(x) - kRootHalf;
  const double m = of_bits<double>((offset & ((uint64_t{1} << B::kMantissa) - 1)) + kRootHalf);
  const auto exponent = static_cast<int64_t>(offset) >> B::kMantissa;
  const double n = of_bits<double>(static_cast<uint64_t>(exponent) + bits_of(B::kRound)) - B::kRound;
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  constexpr double kTwice = 0x1.71547652b82fep+1;  // 2 / ln 2
  double p = kTwice / 13;
#pragma GCC unroll 8
  for (int i = 5; i >= 0; --i) p = p * z + kTwice / (2 * i + 1);
  const double y = n + s * p;
  const double below = x == 0 ? -__builtin_inf() : y;
  return x < __builtin_inf() ? below : x;
}

/// 2^x with a relative error below 2^-31; for x outside of -200 .. 200 the value of the nearer limit.
inline double binary_power(double x) noexcept {
  using B = FloatBits<double>;
  x = x < -200 ? -200 : x;
  x = x > 200 ? 200 : x;
  const double shifted = x + B::kRound;
  const double r = (x - (shifted - B::kRound)) * 0x1.62e42fefa39efp-1;  // ln 2
  double p = inverse_factorial<double>(8);
#pragma GCC unroll 8
  for (int i = 7; i >= 0; --i) p = p * r + inverse_factorial<double>(i);
  return p * of_bits<double>((bits_of(shifted) - bits_of(B::kRound) + B::kBias) << B::kMantissa);
}

/// pow of float32, computed in float64. Written as a chain of selections, since the compiler does not vectorise joined
/// conditions.
inline float power_of(float x, float y) noexcept {
  constexpr double kMost = __FLT_MAX__;
  constexpr double kRound = FloatBits<double>::kRound;
  const double base = absolute(static_cast<double>(x));
  const double exponent = y;
  const double size = absolute(exponent);
  const double half = exponent * 0.5;
  const double magnitude = binary_power(exponent * binary_log(base));
  // Distance from the nearest integer, and from the nearest even number; large exponents are even.
  const double from_whole = size < 0x1p24 ? (exponent + kRound) - kRound - exponent : 0.0;
  const double from_even = size < 0x1p24 ? (half + kRound) - kRound - half : 0.0;
  const double if_odd = with_sign_of(1.0, static_cast<double>(x));
  const double if_negative = base <= kMost ? __builtin_nan("") : 1.0;
  const double if_broken = x < 0 ? if_negative : 1.0;
  double sign = from_even == 0 ? 1.0 : if_odd;
  sign = from_whole == 0 ? sign : if_broken;
  double value = magnitude * sign;
  value = exponent == 0 ? 1.0 : value;
  value = x == 1 ? 1.0 : value;
  const double if_infinite = size > kMost ? 1.0 : value;
  return static_cast<float>(base == 1 ? if_infinite : value);
}

template <typename T>
inline T sigmoid_of(T x) noexcept {
  return 1 / (1 + exp_of(-x));
}

/// The argument of gelu's tanh is kGeluScale * (x + kGeluCube * x^3).
inline constexpr double kGeluScale = 0x1.9884533d43651p-1;  // sqrt(2 / pi)
inline constexpr double kGeluCube = 0.044715;

template <typename T>
inline T gelu_of(T x) noexcept {
  const T inner = static_cast<T>(kGeluScale) * (x + static_cast<T>(kGeluCube) * x * x * x);
  return static_cast<T>(0.5) * x * (1 + tanh_of(inner));
}

/// d gelu(x) / dx
template <typename T>
inline T gelu_slope_of(T x) noexcept {
  const T square = static_cast<T>(kGeluCube) * x * x;
  const T t = tanh_of(static_cast<T>(kGeluScale) * (x + square * x));
  const T inner_slope = static_cast<T>(kGeluScale) * (1 + 3 * square);
  return static_cast<T>(0.5) * (1 + t) + static_cast<T>(0.5) * x * (1 - t * t) * inner_slope;
}

}  // namespace actorhost::kernel::AH_ISA
