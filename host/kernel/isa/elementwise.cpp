// Elementwise operations. Each loop has a contiguous form that the compiler vectorises; AH_INDEPENDENT declares that an
// output is either exactly an input or does not overlap it (kernels.hpp).
#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/math.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

template <typename T, typename F>
inline void map(int64_t n, T* out, int64_t out_step, const T* a, int64_t a_step, F f) noexcept {
  if (out_step == 1 && a_step == 1) {
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * out_step] = f(a[i * a_step]);
  }
}

template <typename T, typename Out = T>
struct Pair {
  Out* out;
  int64_t out_step;
  const T* a;
  int64_t a_step;
  const T* b;
  int64_t b_step;
};

template <typename T, typename Out, typename F>
inline void zip(int64_t n, const Pair<T, Out>& p, F f) noexcept {
  Out* out = p.out;
  const T* a = p.a;
  const T* b = p.b;
  const bool wide = p.out_step == 1;
  if (wide && p.a_step == 1 && p.b_step == 1) {
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (wide && p.a_step == 1 && p.b_step == 0 && n > 0) {
    const T value = *b;
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], value);
  } else if (wide && p.a_step == 0 && p.b_step == 1 && n > 0) {
    const T value = *a;
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = f(value, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * p.out_step] = f(a[i * p.a_step], b[i * p.b_step]);
  }
}

template <typename T>
void unary_of(Unary op, int64_t n, T* out, int64_t out_step, const T* a, int64_t a_step) noexcept {
  auto run = [&](auto f) { map(n, out, out_step, a, a_step, f); };
  switch (op) {
    case Unary::neg: return run([](T x) { return -x; });
    case Unary::exp: return run([](T x) { return exp_of(x); });
    case Unary::log: return run([](T x) { return log_of(x); });
    case Unary::sqrt: return run([](T x) { return square_root(x); });
    case Unary::tanh: return run([](T x) { return tanh_of(x); });
    case Unary::sigmoid: return run([](T x) { return sigmoid_of(x); });
    case Unary::relu: return run([](T x) { return x < 0 ? T{0} : x; });
    case Unary::abs: return run([](T x) { return absolute(x); });
    case Unary::square: return run([](T x) { return x * x; });
    case Unary::gelu: return run([](T x) { return gelu_of(x); });
    case Unary::sign: return run([](T x) { return x > 0 ? T{1} : (x < 0 ? T{-1} : x); });
    default: break;  // whole.cpp
  }
}

template <typename T>
void binary_of(Binary op, int64_t n, const Pair<T>& p) noexcept {
  auto run = [&](auto f) { zip(n, p, f); };
  auto test = [&](auto f) {
    void* const truths = p.out;
    zip(n, Pair<T, uint8_t>{as<uint8_t>(truths), p.out_step, p.a, p.a_step, p.b, p.b_step}, f);
  };
  switch (op) {
    case Binary::add: return run([](T x, T y) { return x + y; });
    case Binary::sub: return run([](T x, T y) { return x - y; });
    case Binary::mul: return run([](T x, T y) { return x * y; });
    case Binary::div: return run([](T x, T y) { return x / y; });
    case Binary::max: return run([](T x, T y) { return (x > y) | (x != x) ? x : y; });
    case Binary::min: return run([](T x, T y) { return (x < y) | (x != x) ? x : y; });
    case Binary::pow: return run([](T x, T y) __attribute__((always_inline)) { return power_of(x, y); });
    case Binary::eq: return test([](T x, T y) { return static_cast<uint8_t>(x == y); });
    case Binary::ne: return test([](T x, T y) { return static_cast<uint8_t>(x != y); });
    case Binary::lt: return test([](T x, T y) { return static_cast<uint8_t>(x < y); });
    case Binary::le: return test([](T x, T y) { return static_cast<uint8_t>(x <= y); });
    case Binary::gt: return test([](T x, T y) { return static_cast<uint8_t>(x > y); });
    case Binary::ge: return test([](T x, T y) { return static_cast<uint8_t>(x >= y); });
    case Binary::relu_grad: return run([](T g, T y) { return y > 0 ? g : T{0}; });
    case Binary::tanh_grad: return run([](T g, T y) { return g * (1 - y * y); });
    case Binary::sigmoid_grad: return run([](T g, T y) { return g * (y * (1 - y)); });
    case Binary::gelu_grad: return run([](T g, T x) { return g * gelu_slope_of(x); });
    default: break;  // whole.cpp
  }
}

}  // namespace

void unary(Unary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step) noexcept {
  by_dtype(dtype, [=]<typename T>(T) { unary_of(op, n, as<T>(out), out_step, as<T>(a), a_step); });
}

void binary(Binary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step,
            const void* b, int64_t b_step) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    binary_of(op, n, Pair<T>{as<T>(out), out_step, as<T>(a), a_step, as<T>(b), b_step});
  });
}

void copy(Dtype out_dtype, int64_t n, void* out, int64_t out_step, Dtype dtype, const void* a,
          int64_t a_step) noexcept {
  if (out_dtype == dtype && out_step == 1 && a_step == 1) {
    __builtin_memmove(out, a, static_cast<size_t>(n) * dtype_size(dtype));
    return;
  }
  by_dtype(out_dtype, [=]<typename T>(T) {
    by_dtype(dtype, [=]<typename S>(S) {
      T* to = as<T>(out);
      const S* from = as<S>(a);
      if (out_step == 1 && a_step == 1) {
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) to[i * out_step] = static_cast<T>(from[i * a_step]);
      }
    });
  });
}

namespace {

// Transposes four by four elements in registers.
template <typename U>
inline void turn_four(U* out, int64_t out_lead, const U* a, int64_t a_lead) noexcept {
  typedef U Four __attribute__((vector_size(4 * sizeof(U))));
  Four r[4];
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&r[i], a + i * a_lead, sizeof(Four));
  const Four low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const Four low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const Four high23 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
  for (int i = 0; i < 4; ++i) __builtin_memcpy(out + i * out_lead, &r[i], sizeof(Four));
}

template <typename U>
void turn(int64_t rows, int64_t columns, U* out, int64_t out_lead, const U* a, int64_t a_lead) noexcept {
  const int64_t whole_rows = rows / 4 * 4;
  const int64_t whole_columns = columns / 4 * 4;
  for (int64_t i = 0; i < whole_rows; i += 4) {
    for (int64_t j = 0; j < whole_columns; j += 4)
      turn_four(out + i * out_lead + j, out_lead, a + j * a_lead + i, a_lead);
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j) out[i * out_lead + j] = a[j * a_lead + i];
  }
}

}  // namespace

void copy_turned(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
                 int64_t a_lead) noexcept {
  if (dtype == Dtype::f32) return turn(rows, columns, as<uint32_t>(out), out_lead, as<uint32_t>(a), a_lead);
  turn(rows, columns, as<uint64_t>(out), out_lead, as<uint64_t>(a), a_lead);
}

void fill(Dtype dtype, int64_t n, void* out, int64_t out_step, double value) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    T* to = as<T>(out);
    const T x = static_cast<T>(value);
    if (out_step == 1) {
      for (int64_t i = 0; i < n; ++i) to[i] = x;
    } else {
      for (int64_t i = 0; i < n; ++i) to[i * out_step] = x;
    }
  });
}

void from_bytes(Dtype dtype, int64_t n, void* out, const uint8_t* bytes, double scale, double shift) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    T* to = as<T>(out);
    const T factor = static_cast<T>(scale);
    const T offset = static_cast<T>(shift);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(bytes[i]) * factor + offset;
  });
}

bool is_finite(Dtype dtype, int64_t n, const void* a, int64_t a_step) noexcept {
  return by_dtype(dtype, [=]<typename T>(T) {
    // x - x is 0 for finite numbers and NaN for all others; blocks allow an early end of the scan.
    const T* in = as<T>(a);
    constexpr int64_t kBlock = 4096;
    for (int64_t from = 0; from < n; from += kBlock) {
      const int64_t to = from + kBlock < n ? from + kBlock : n;
      typename FloatBits<T>::Int bad = 0;
      for (int64_t i = from; i < to; ++i) {
        const T x = in[i * a_step];
        bad |= x - x == 0 ? 0U : 1U;
      }
      if (bad != 0) return false;
    }
    return true;
  });
}

}  // namespace actorhost::kernel::AH_ISA
