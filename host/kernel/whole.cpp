#include "host/kernel/whole.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace actorhost::kernel {

namespace {

template <typename T>
inline constexpr bool kIsTruth = std::is_same_v<T, Truth>;

/// The unsigned type for sums and products of T, which wrap.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
T* as(Run run) noexcept {
  return static_cast<T*>(run.at);
}
template <typename T>
const T* as(ConstRun run) noexcept {
  return static_cast<const T*>(run.at);
}

template <typename Out, typename T, typename F>
void map(int64_t n, Run out, ConstRun a, F f) noexcept {
  Out* to = as<Out>(out);
  const T* from = as<T>(a);
  if (out.step == 1 && a.step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(f(from[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * out.step] = static_cast<Out>(f(from[i * a.step]));
  }
}

template <typename Out, typename T, typename F>
void zip(int64_t n, Run out, ConstRun a, ConstRun b, F f) noexcept {
  Out* to = as<Out>(out);
  const T* x = as<T>(a);
  const T* y = as<T>(b);
  if (out.step == 1 && a.step == 1 && b.step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(f(x[i], y[i]));
  } else if (out.step == 1 && a.step == 1 && b.step == 0 && n > 0) {
    const T value = *y;
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(f(x[i], value));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * out.step] = static_cast<Out>(f(x[i * a.step], y[i * b.step]));
  }
}

template <typename T, typename F>
T wrapped(T x, T y, F f) noexcept {
  using W = Wrapping<T>;
  return static_cast<T>(f(static_cast<W>(x), static_cast<W>(y)));
}

template <typename T>
T whole_power(T base, T exponent) noexcept {
  T result = 1;
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result = wrapped(result, base, [](auto x, auto y) { return x * y; });
    base = wrapped(base, base, [](auto x, auto y) { return x * y; });
  }
  return result;
}

/// The remainder with the sign of the divisor. The divisor -1 is a special case, because the minimum divided by -1
/// overflows.
template <typename T>
T whole_mod(T x, T y) noexcept {
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
  }
  const T rest = static_cast<T>(x % y);
  return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
}

template <typename T>
T whole_floor_div(T x, T y) noexcept {
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return wrapped(T{0}, x, [](auto a, auto b) { return a - b; });
  }
  const T quotient = static_cast<T>(x / y);
  return x % y != 0 && (x < 0) != (y < 0) ? static_cast<T>(quotient - 1) : quotient;
}

template <typename T>
T float_mod(T x, T y) noexcept {
  const T rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(T{0}, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

template <typename T>
T float_floor_div(T x, T y) noexcept {
  if (y == 0) return x / y;
  const T rest = std::fmod(x, y);
  const T quotient = std::round((x - rest) / y);  // an integer, except for rounding
  return rest != 0 && (rest < 0) != (y < 0) ? quotient - 1 : quotient;
}

template <typename T>
void float_unary(Unary op, int64_t n, Run out, ConstRun a) noexcept {
  auto run = [&](auto f) { map<T, T>(n, out, a, f); };
  switch (op) {
    case Unary::floor: return run([](T x) { return std::floor(x); });
    case Unary::ceil: return run([](T x) { return std::ceil(x); });
    case Unary::round: return run([](T x) { return std::nearbyint(x); });
    case Unary::trunc: return run([](T x) { return std::trunc(x); });
    case Unary::sin: return run([](T x) { return std::sin(x); });
    case Unary::cos: return run([](T x) { return std::cos(x); });
    case Unary::tan: return run([](T x) { return std::tan(x); });
    case Unary::asin: return run([](T x) { return std::asin(x); });
    case Unary::acos: return run([](T x) { return std::acos(x); });
    case Unary::atan: return run([](T x) { return std::atan(x); });
    case Unary::sinh: return run([](T x) { return std::sinh(x); });
    case Unary::cosh: return run([](T x) { return std::cosh(x); });
    case Unary::log1p: return run([](T x) { return std::log1p(x); });
    case Unary::expm1: return run([](T x) { return std::expm1(x); });
    case Unary::log2: return run([](T x) { return std::log2(x); });
    case Unary::log10: return run([](T x) { return std::log10(x); });
    case Unary::reciprocal: return run([](T x) { return 1 / x; });
    case Unary::is_nan: return map<Truth, T>(n, out, a, [](T x) { return x != x; });
    case Unary::is_inf: return map<Truth, T>(n, out, a, [](T x) { return std::isinf(x); });
    case Unary::is_finite: return map<Truth, T>(n, out, a, [](T x) { return x - x == 0; });
    case Unary::logical_not: return map<Truth, T>(n, out, a, [](T x) { return x == 0; });
    default: break;  // in kernels()
  }
}

template <typename T>
void whole_unary_of(Unary op, int64_t n, Run out, ConstRun a) noexcept {
  auto run = [&](auto f) { map<T, T>(n, out, a, f); };
  switch (op) {
    case Unary::neg: return run([](T x) { return wrapped(T{0}, x, [](auto zero, auto y) { return zero - y; }); });
    case Unary::square: return run([](T x) { return wrapped(x, x, [](auto y, auto z) { return y * z; }); });
    case Unary::abs:
      return run([](T x) { return x < 0 ? wrapped(T{0}, x, [](auto zero, auto y) { return zero - y; }) : x; });
    case Unary::sign: return run([](T x) { return (x > 0) - (x < 0); });
    case Unary::relu: return run([](T x) { return x < 0 ? T{0} : x; });
    case Unary::is_nan:
    case Unary::is_inf: return map<Truth, T>(n, out, a, [](T) { return false; });
    case Unary::is_finite: return map<Truth, T>(n, out, a, [](T) { return true; });
    case Unary::logical_not: return map<Truth, T>(n, out, a, [](T x) { return x == 0; });
    default: return run([](T x) { return x; });  // floor, ceil, round, trunc
  }
}

template <typename T>
void compare(Binary op, int64_t n, Run out, ConstRun a, ConstRun b) noexcept {
  auto run = [&](auto f) { zip<Truth, T>(n, out, a, b, f); };
  switch (op) {
    case Binary::eq: return run([](T x, T y) { return x == y; });
    case Binary::ne: return run([](T x, T y) { return x != y; });
    case Binary::lt: return run([](T x, T y) { return x < y; });
    case Binary::le: return run([](T x, T y) { return x <= y; });
    case Binary::gt: return run([](T x, T y) { return x > y; });
    case Binary::ge: return run([](T x, T y) { return x >= y; });
    case Binary::logical_and: return run([](T x, T y) { return x != 0 && y != 0; });
    case Binary::logical_or: return run([](T x, T y) { return x != 0 || y != 0; });
    default: return run([](T x, T y) { return (x != 0) != (y != 0); });  // logical_xor
  }
}

template <typename T>
void whole_binary_of(Binary op, int64_t n, Run out, ConstRun a, ConstRun b) noexcept {
  auto run = [&](auto f) { zip<T, T>(n, out, a, b, f); };
  switch (op) {
    case Binary::add: return run([](T x, T y) { return wrapped(x, y, [](auto v, auto w) { return v + w; }); });
    case Binary::sub: return run([](T x, T y) { return wrapped(x, y, [](auto v, auto w) { return v - w; }); });
    case Binary::mul: return run([](T x, T y) { return wrapped(x, y, [](auto v, auto w) { return v * w; }); });
    case Binary::max: return run([](T x, T y) { return x > y ? x : y; });
    case Binary::min: return run([](T x, T y) { return x < y ? x : y; });
    case Binary::pow: return run([](T x, T y) { return whole_power(x, y); });
    case Binary::mod: return run([](T x, T y) { return whole_mod(x, y); });
    case Binary::floor_div: return run([](T x, T y) { return whole_floor_div(x, y); });
    default: return compare<T>(op, n, out, a, b);
  }
}

template <typename T>
void float_binary(Binary op, int64_t n, Run out, ConstRun a, ConstRun b) noexcept {
  auto run = [&](auto f) { zip<T, T>(n, out, a, b, f); };
  switch (op) {
    case Binary::mod: return run([](T x, T y) { return float_mod(x, y); });
    case Binary::floor_div: return run([](T x, T y) { return float_floor_div(x, y); });
    case Binary::atan2: return run([](T x, T y) { return std::atan2(x, y); });
    case Binary::hypot: return run([](T x, T y) { return std::hypot(x, y); });
    default: return compare<T>(op, n, out, a, b);
  }
}

void truth_binary(Binary op, int64_t n, Run out, ConstRun a, ConstRun b) noexcept {
  switch (op) {
    case Binary::add:
    case Binary::max: return compare<Truth>(Binary::logical_or, n, out, a, b);
    case Binary::mul:
    case Binary::min: return compare<Truth>(Binary::logical_and, n, out, a, b);
    default: return compare<Truth>(op, n, out, a, b);
  }
}

template <typename To, typename T>
To converted(T x) noexcept {
  if constexpr (kIsTruth<To>) {
    return Truth(x != 0);
  } else {
    return static_cast<To>(x);
  }
}

template <typename T>
void choose_of(int64_t n, Run out, ConstRun cond, ConstRun a, ConstRun b) noexcept {
  T* to = as<T>(out);
  const Truth* which = as<Truth>(cond);
  const T* x = as<T>(a);
  const T* y = as<T>(b);
  for (int64_t i = 0; i < n; ++i) to[i * out.step] = which[i * cond.step] ? x[i * a.step] : y[i * b.step];
}

/// Folds with f(total, element); a run that folds into one total keeps this total in a register.
template <typename Total, typename T, typename F>
void fold_run(int64_t n, Run total, ConstRun a, F f) noexcept {
  Total* to = as<Total>(total);
  const T* from = as<T>(a);
  if (total.step == 0) {
    Total sum = *to;
    for (int64_t i = 0; i < n; ++i) sum = f(sum, from[i * a.step]);
    *to = sum;
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * total.step] = f(to[i * total.step], from[i * a.step]);
  }
}

/// The C++ type of fold_type(sum or prod, T).
template <typename T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <typename S, typename T>
S added(S sum, T x) noexcept {
  if constexpr (std::is_floating_point_v<S>) {
    return sum + static_cast<S>(x);
  } else {
    return static_cast<S>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(static_cast<S>(x)));
  }
}

template <typename S, typename T>
S multiplied(S sum, T x) noexcept {
  if constexpr (std::is_floating_point_v<S>) {
    return sum * static_cast<S>(x);
  } else {
    return static_cast<S>(static_cast<uint64_t>(sum) * static_cast<uint64_t>(static_cast<S>(x)));
  }
}

template <typename T>
void fold_of(Fold op, int64_t n, Run total, ConstRun a) noexcept {
  switch (op) {
    case Fold::sum: return fold_run<Sum<T>, T>(n, total, a, [](Sum<T> s, T x) { return added(s, x); });
    case Fold::prod: return fold_run<Sum<T>, T>(n, total, a, [](Sum<T> s, T x) { return multiplied(s, x); });
    case Fold::max: return fold_run<T, T>(n, total, a, [](T best, T x) { return best < x ? x : best; });
    case Fold::min: return fold_run<T, T>(n, total, a, [](T best, T x) { return x < best ? x : best; });
    case Fold::sum_squares:
      return fold_run<double, T>(n, total, a, [](double s, T x) {
        const auto wide = static_cast<double>(x);
        return s + wide * wide;
      });
    case Fold::sum_for_mean:
      return fold_run<double, T>(n, total, a, [](double s, T x) { return s + static_cast<double>(x); });
  }
}

template <typename T>
T limit_of(Fold op) noexcept {
  if constexpr (kIsTruth<T>) {
    return Truth(op == Fold::min);
  } else {
    return op == Fold::max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

/// Whether the kernels for integers take this run.
bool are_consecutive_integers(Dtype dtype, ConstRun a) noexcept {
  return a.step == 1 && !is_floating(dtype) && dtype != Dtype::b8;
}

/// Whether x, truncated to an integer, is in the range of To.
template <typename To, typename T>
bool fits(T x) noexcept {
  if constexpr (kIsTruth<To> || kIsTruth<T> || std::is_floating_point_v<To>) {
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    // The bounds are powers of 2 or small, so the double is exact.
    const double whole = std::trunc(static_cast<double>(x));
    constexpr double kBelow = sizeof(To) == 8 ? 0x1p63 : static_cast<double>(std::numeric_limits<To>::max()) + 1;
    return whole >= static_cast<double>(std::numeric_limits<To>::min()) && whole < kBelow;
  } else {
    return static_cast<int64_t>(x) >= static_cast<int64_t>(std::numeric_limits<To>::min()) &&
           static_cast<int64_t>(x) <= static_cast<int64_t>(std::numeric_limits<To>::max());
  }
}

}  // namespace

Dtype result_of(Unary op, Dtype dtype) noexcept { return op >= Unary::is_nan ? Dtype::b8 : dtype; }

Dtype result_of(Binary op, Dtype dtype) noexcept {
  const bool compares = op >= Binary::eq && op <= Binary::ge;
  return compares || op >= Binary::logical_and ? Dtype::b8 : dtype;
}

void whole_unary(Unary op, Dtype dtype, int64_t n, Run out, ConstRun a) noexcept {
  with_type(dtype, [&]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      float_unary<T>(op, n, out, a);
    } else if constexpr (kIsTruth<T>) {
      if (op < Unary::is_nan) return map<T, T>(n, out, a, [](T x) { return x; });
      whole_unary_of<uint8_t>(op, n, out, a);
    } else {
      whole_unary_of<T>(op, n, out, a);
    }
  });
}

void whole_binary(Binary op, Dtype dtype, int64_t n, Run out, ConstRun a, ConstRun b) noexcept {
  with_type(dtype, [&]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      float_binary<T>(op, n, out, a, b);
    } else if constexpr (kIsTruth<T>) {
      truth_binary(op, n, out, a, b);
    } else {
      whole_binary_of<T>(op, n, out, a, b);
    }
  });
}

void whole_copy(Dtype out_dtype, int64_t n, Run out, Dtype dtype, ConstRun a) noexcept {
  if (out_dtype == dtype && out.step == 1 && a.step == 1) {
    std::memmove(out.at, a.at, static_cast<size_t>(n) * dtype_size(dtype));
    return;
  }
  with_type(out_dtype, [&]<typename To>(To) {
    with_type(dtype, [&]<typename T>(T) { map<To, T>(n, out, a, [](T x) { return converted<To>(x); }); });
  });
}

void whole_fill(Dtype dtype, int64_t n, Run out, double value) noexcept {
  with_type(dtype, [&]<typename T>(T) {
    T* to = as<T>(out);
    const T x = converted<T>(value);
    for (int64_t i = 0; i < n; ++i) to[i * out.step] = x;
  });
}

void choose(size_t size, int64_t n, Run out, ConstRun cond, ConstRun a, ConstRun b) noexcept {
  if (size == 1) return choose_of<uint8_t>(n, out, cond, a, b);
  if (size == 4) return choose_of<uint32_t>(n, out, cond, a, b);
  choose_of<uint64_t>(n, out, cond, a, b);
}

Dtype fold_type(Fold op, Dtype dtype) noexcept {
  if (op == Fold::max || op == Fold::min) return dtype;
  const bool real = op == Fold::sum_squares || op == Fold::sum_for_mean || is_floating(dtype);
  return real ? Dtype::f64 : Dtype::i64;
}

void fold(Fold op, Dtype dtype, int64_t n, Run total, ConstRun a) noexcept {
  const bool consecutive = total.step == 0 && n > 0 && are_consecutive_integers(dtype, a);
  if (consecutive && op == Fold::sum) {
    *as<int64_t>(total) = added(*as<int64_t>(total), kernels().integer_sum(dtype, n, a.at));
    return;
  }
  if (consecutive && (op == Fold::max || op == Fold::min)) {
    const int64_t best = kernels().integer_best(dtype, n, a.at, op == Fold::min);
    return with_type(dtype, [&]<typename T>(T) {
      if constexpr (!kIsTruth<T>) {
        const T found = static_cast<T>(best);
        fold_of<T>(op, 1, total, {&found, 0});
      }
    });
  }
  with_type(dtype, [&]<typename T>(T) { fold_of<T>(op, n, total, a); });
}

void fold_start(Fold op, Dtype dtype, int64_t n, void* total) noexcept {
  if (op != Fold::max && op != Fold::min)
    return whole_fill(fold_type(op, dtype), n, {total, 1}, op == Fold::prod ? 1 : 0);
  with_type(dtype, [&]<typename T>(T) { std::fill_n(static_cast<T*>(total), n, limit_of<T>(op)); });
}

void running(Fold op, Dtype dtype, int64_t n, Run out, ConstRun a) noexcept {
  with_type(dtype, [&]<typename T>(T) {
    using Out = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
    Sum<T> sum = op == Fold::prod ? 1 : 0;
    const T* from = as<T>(a);
    for (int64_t i = 0; i < n; ++i) {
      sum = op == Fold::prod ? multiplied(sum, from[i * a.step]) : added(sum, from[i * a.step]);
      as<Out>(out)[i * out.step] = static_cast<Out>(sum);
    }
  });
}

int64_t whole_arg_max(Dtype dtype, int64_t n, ConstRun a, bool smallest) noexcept {
  constexpr int64_t kBlock = 4096;
  const bool consecutive = are_consecutive_integers(dtype, a);
  return with_type(dtype, [&]<typename T>(T) {
    const T* from = as<T>(a);
    const auto best = [&](auto better) {
      int64_t block = 0;  // the first block with the best element
      T value = from[0];
      for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t count = std::min(n - begin, kBlock);
        T most = value;
        if (consecutive) {
          most = static_cast<T>(kernels().integer_best(dtype, count, from + begin, smallest));
        } else {
          for (int64_t i = begin; i < begin + count; ++i) {
            const T x = from[i * a.step];
            most = better(x, most) ? x : most;
          }
        }
        if (!better(most, value)) continue;
        value = most;
        block = begin;
      }
      while (from[block * a.step] != value) ++block;
      return block;
    };
    return smallest ? best(std::less<>()) : best(std::greater<>());
  });
}

bool whole_all_close(int64_t n, Dtype a_dtype, ConstRun a, Dtype b_dtype, ConstRun b, double rtol,
                     double atol) noexcept {
  return with_type(a_dtype, [&]<typename T>(T) {
    return with_type(b_dtype, [&]<typename S>(S) {
      for (int64_t i = 0; i < n; ++i) {
        const T x = as<T>(a)[i * a.step];
        const S y = as<S>(b)[i * b.step];
        if constexpr (!std::is_floating_point_v<T> && !std::is_floating_point_v<S>) {
          if (static_cast<int64_t>(x) == static_cast<int64_t>(y)) continue;
          if (rtol == 0 && atol == 0) return false;
        }
        const auto u = static_cast<double>(x);
        const auto v = static_cast<double>(y);
        if (!(std::fabs(u - v) <= atol + rtol * std::fabs(v))) return false;
      }
      return true;
    });
  });
}

int64_t first_unfit(Dtype to, Dtype dtype, int64_t n, const void* a) noexcept {
  return with_type(to, [&]<typename To>(To) {
    return with_type(dtype, [&]<typename T>(T) {
      const T* at = static_cast<const T*>(a);
      return static_cast<int64_t>(std::find_if(at, at + n, [](T x) { return !fits<To>(x); }) - at);
    });
  });
}

int64_t first_unfit(Binary op, Dtype dtype, int64_t n, const void* a) noexcept {
  if (is_floating(dtype) || (op != Binary::mod && op != Binary::floor_div && op != Binary::pow)) return n;
  return with_type(dtype, [&]<typename T>(T) {
    const T* at = static_cast<const T*>(a);
    const auto bad = [&](T x) { return op == Binary::pow ? x < 0 : x == 0; };
    return static_cast<int64_t>(std::find_if(at, at + n, bad) - at);
  });
}

double number_at(Dtype dtype, const void* at) noexcept {
  return with_type(dtype, [&]<typename T>(T) { return static_cast<double>(*static_cast<const T*>(at)); });
}

}  // namespace actorhost::kernel
