#pragma once
// exp, log, tanh, sigmoid and pow as branch-free code that the compiler vectorises, with the same bits in every lane,
// tail and instruction set. Within 3 units in the last place of the exact value, pow within 1.5
// (tests/host/kernel/math_test.cpp); also for infinities, NaN and subnormal numbers. Coefficients are from the Taylor
// series.

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
  static constexpr float kSmallest = 0x1p-126F;
  static constexpr int kExpTerms = 7, kLogTerms = 4, kPowerTerms = 6;
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
  static constexpr double kSmallest = 0x1p-1022;
  static constexpr int kExpTerms = 13, kLogTerms = 10, kPowerTerms = 12;
  static constexpr double kTanhOne = 20;
};

template <typename T>
constexpr typename FloatBits<T>::Int bits_of(T x) noexcept {
  return __builtin_bit_cast(typename FloatBits<T>::Int, x);
}

template <typename T>
constexpr T of_bits(typename FloatBits<T>::Int bits) noexcept {
  return __builtin_bit_cast(T, bits);
}

template <typename T>
inline constexpr auto kSign = typename FloatBits<T>::Int{1} << (sizeof(T) * 8 - 1);

/// All bits if the condition holds, otherwise none. The compiler vectorises joined masks, but not joined conditions.
template <typename T>
inline typename FloatBits<T>::Int mask(bool condition) noexcept {
  return typename FloatBits<T>::Int{0} - typename FloatBits<T>::Int{condition};
}

/// a * b + c, exactly. It must be a number of the type, as the rounding error of a product is.
#ifdef __FMA__
inline float residual(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
inline double residual(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }
#else
inline float residual(float a, float b, float c) noexcept {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
}

/// A number as the sum of two halves of its digits (Dekker), whose products are exact.
struct Halves {
  double high;
  double low;
};

inline Halves halves_of(double x) noexcept {
  const double scaled = x * 0x1.0000002p27;
  const double high = scaled - (scaled - x);
  return {high, x - high};
}

inline double residual(double a, double b, double c) noexcept {
  const Halves x = halves_of(a);
  const Halves y = halves_of(b);
  return (((x.high * y.high + c) + x.high * y.low) + x.low * y.high) + x.low * y.low;
}
#endif

/// 1 / n!
constexpr double inverse_factorial(int n) noexcept {
  double f = 1;
  for (int i = 2; i <= n; ++i) f *= i;
  return 1 / f;
}

/// The terms kFirst .. kLast of the polynomial with these coefficients, divided by x^kFirst. Halves are computed
/// independently of each other (Estrin's scheme), so few operations wait for others.
template <int kFirst, int kLast, typename T, typename Coefficient>
AH_INLINE T polynomial(T x, Coefficient coefficient) noexcept {
  constexpr int kCount = kLast - kFirst + 1;
  if constexpr (kCount == 1) {
    return static_cast<T>(coefficient(kFirst));
  } else {
    constexpr int kHalf = kCount > 8 ? 8 : kCount > 4 ? 4 : kCount > 2 ? 2 : 1;
    const T square = x * x;
    const T fourth = square * square;
    const T power = kHalf == 8 ? fourth * fourth : kHalf == 4 ? fourth : kHalf == 2 ? square : x;
    return polynomial<kFirst + kHalf, kLast>(x, coefficient) * power +
           polynomial<kFirst, kFirst + kHalf - 1>(x, coefficient);
  }
}

/// e^r - 1 for |r| of at most half of ln 2. It keeps its digits near 0.
template <typename T>
AH_INLINE T small_exp(T r) noexcept {
  return polynomial<2, FloatBits<T>::kExpTerms>(r, inverse_factorial) * (r * r) + r;
}

/// value * 2^n, where `shifted` is n + kRound. Two factors: a single factor may exceed the exponent range even if the
/// result does not.
template <typename T>
AH_INLINE T scale(T value, T shifted) noexcept {
  using B = FloatBits<T>;
  using Int = typename B::Int;
  constexpr Int kShift = B::kBias / 2;
  const bool below = shifted < B::kRound;
  const Int bias = below ? B::kBias + kShift : B::kBias - 1;
  const T rest = below ? of_bits<T>((B::kBias - kShift) << B::kMantissa) : T{2};
  return value * of_bits<T>((bits_of(shifted) - bits_of(B::kRound) + bias) << B::kMantissa) * rest;
}

template <typename T>
AH_INLINE T exp_of(T x) noexcept {
  using B = FloatBits<T>;
  const T shifted = x * static_cast<T>(0x1.71547652b82fep+0) + B::kRound;
  const T n = shifted - B::kRound;
  const T r = -n * B::kLn2Low + (-n * B::kLn2High + x);
  const T y = scale(small_exp(r) + 1, shifted);
  const T limited = x < B::kExpLow ? T{0} : y;
  return x > B::kExpHigh ? static_cast<T>(__builtin_inf()) : limited;
}

/// A positive number as m * 2^n, m from sqrt(1/2) to sqrt(2): log(1) is exactly 0, and no digits cancel near it.
template <typename T>
struct Parts {
  T m;
  T n;
};

template <typename T>
AH_INLINE Parts<T> parts_of(T x) noexcept {
  using B = FloatBits<T>;
  using Int = typename B::Int;
  // A subnormal number times 2^kMantissa. A mask, since the compiler would compute both cases of a selection.
  const Int tiny = mask<T>(x < B::kSmallest);
  const T scaled = x * of_bits<T>(bits_of(T{1}) + (tiny & Int{B::kMantissa} << B::kMantissa));
  constexpr Int kRootHalf = bits_of(static_cast<T>(0x1.6a09e667f3bcdp-1));
  const Int offset = bits_of(scaled) - kRootHalf;
  const auto exponent = static_cast<typename B::Signed>(offset) >> B::kMantissa;
  // exponent + kRound's integer bits, read as a floating-point number: avoids a 64-bit conversion instruction
  const T n = of_bits<T>(static_cast<Int>(exponent) + bits_of(B::kRound)) - B::kRound;
  return {of_bits<T>((offset & ((Int{1} << B::kMantissa) - 1)) + kRootHalf),
          n - of_bits<T>(tiny & bits_of(T{B::kMantissa}))};
}

template <typename T>
AH_INLINE T log_of(T x) noexcept {
  using B = FloatBits<T>;
  const auto [m, n] = parts_of(x);
  const T f = m - 1;
  const T s = f / (m + 1);
  const T z = s * s;
  const T p = polynomial<1, B::kLogTerms>(z, [](int i) { return 2.0 / (2 * i + 1); });
  const T half_square = f * f * static_cast<T>(0.5);
  const T low = s * (p * z + half_square) + n * B::kLn2Low;
  const T y = n * B::kLn2High + (f - (half_square - low));
  constexpr T kInf = static_cast<T>(__builtin_inf());
  T result = x == kInf ? x : y;
  result = x == 0 ? -kInf : result;
  return x >= 0 ? result : static_cast<T>(__builtin_nan(""));
}

template <typename T>
inline T absolute(T x) noexcept {
  return of_bits<T>(bits_of(x) & ~kSign<T>);
}

template <typename T>
inline T with_sign_of(T magnitude, T sign) noexcept {
  return of_bits<T>(bits_of(magnitude) | (bits_of(sign) & kSign<T>));
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
  const T r = -n * B::kLn2Low + (-n * B::kLn2High + twice);
  const T power = of_bits<T>((bits_of(shifted) - bits_of(B::kRound) + B::kBias) << B::kMantissa);
  const T e = power * small_exp(r) + (power - 1);
  return with_sign_of(e / (e + 2), x);
}

/// x^y = 2^(y * log2 |x|), with the cases of the C library. The logarithm and its product with y are sums of two
/// numbers, `_low` being the smaller one: y * log2 |x| may be 1,000, and all bits of a number behind its point count.
template <typename T>
AH_INLINE T power_of(T x, T y) noexcept {
  using B = FloatBits<T>;
  constexpr T kInf = static_cast<T>(__builtin_inf());
  const T base = absolute(x);
  const auto [m, n] = parts_of(base);
  // s = (m - 1) / (m + 1), z = s^2
  const T f = m - 1;
  const T d = m + 1;
  const T d_low = m - (d - 1);
  const T inverse = 1 / d;
  const T s = f * inverse;
  const T s_low = (residual(-s, d, f) - s * d_low) * inverse;
  const T z = s * s;
  const T z_low = residual(s, s, -z) + 2 * s * s_low;
  // atanh(s) = s + s * t, t = z/3 + z^2/5 + z^3/7 + ...
  constexpr T kThird = static_cast<T>(1.0 / 3);
  constexpr T kThirdLow = static_cast<T>(1.0L / 3 - kThird);
  const T p = polynomial<2, B::kPowerTerms>(z, [](int i) { return 1.0 / (2 * i + 1); });
  const T t = z * kThird;
  const T t_low = residual(z, kThird, -t) + (z * (z * p + kThirdLow) + z_low * kThird);
  const T v = s * t;
  const T v_low = residual(s, t, -v) + (s * t_low + s_low * t);
  const T rest = v_low + s_low + ((s - (s + v)) + v);
  const T a = s + v + rest;
  const T a_low = (s + v - a) + rest;
  // log2 |x| = n + 2 / ln 2 * atanh(s)
  constexpr T kTwice = static_cast<T>(0x2.e2a8eca5705fc2eefa1fp0L);
  constexpr T kTwiceLow = static_cast<T>(0x2.e2a8eca5705fc2eefa1fp0L - kTwice);
  const T l = a * kTwice;
  const T l_low = residual(a, kTwice, -l) + (a * kTwiceLow + a_low * kTwice);
  const T sum = n + l;
  T log = base == 0 ? -kInf : sum;
  log = base < kInf ? log : base;
  // The result is 1 if y is 0 or |x| is 1, also where the other number is infinite or NaN.
  const T exponent = of_bits<T>(bits_of(y) & mask<T>(log != 0));
  log = of_bits<T>(bits_of(log) & mask<T>(y != 0));
  const T w = exponent * log;
  const T w_low = residual(exponent, log, -w) + exponent * (((n - sum) + l) + l_low);
  const T shifted = w + B::kRound;
  const T r = ((w - (shifted - B::kRound)) + w_low) * static_cast<T>(0x1.62e42fefa39efp-1);  // ln 2
  T size = scale(small_exp(r) + 1, shifted);
  size = w > T{B::kBias + 2} ? kInf : size;
  size = w < -T{B::kBias + B::kMantissa + 2} ? T{0} : size;
  constexpr T kWhole = B::kRound / static_cast<T>(1.5);  // from here on every number is whole
  // A negative x: an odd y keeps the sign, and a y that is not whole has no result, unless x is infinite or 0.
  const T length = absolute(y);
  const T half = length * static_cast<T>(0.5);
  const auto whole = mask<T>(length >= kWhole) | mask<T>(length + kWhole - kWhole == length);
  const auto even = mask<T>(half >= kWhole) | mask<T>(half + kWhole - kWhole == half);
  const auto odd = whole & ~even;
  const auto broken = mask<T>(x < 0) & mask<T>(x > -kInf) & ~whole;
  constexpr auto kNan = bits_of(static_cast<T>(__builtin_nan("")));
  return of_bits<T>(bits_of(size) | (bits_of(x) & kSign<T> & odd) | (kNan & broken));
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
