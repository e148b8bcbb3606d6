// Kernels of neural network layers besides products and pooling: scaling and summing of channels, dropout, gradients of
// activations. No fused multiply-add, and sums in one order, so every instruction set gives the same bits.
#include "host/kernel/isa/isa.hpp"
#include "host/kernel/isa/math.hpp"

namespace actorhost::kernel::AH_ISA {

namespace {

// A 32-bit hash whose every bit depends on every bit of x: three rounds of multiplication and shifts. Source: Wellons,
// Prospecting for hash functions, 2018 (triple32).
inline uint32_t mixed(uint32_t x) noexcept {
  x ^= x >> 17;
  x *= 0xed5ad4bbU;
  x ^= x >> 11;
  x *= 0xac4c1b51U;
  x ^= x >> 15;
  x *= 0x31848babU;
  x ^= x >> 14;
  return x;
}

}  // namespace

void affine(Dtype dtype, int64_t n, void* out, const void* a, const void* a_scale, const void* b, const void* b_scale,
            const void* shift) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    T* to = as<T>(out);
    const T* x = as<T>(a);
    const T* s = as<T>(a_scale);
    const T* y = as<T>(b);
    const T* t = as<T>(b_scale);
    const T* c = as<T>(shift);
    if (y == nullptr) {
      AH_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = x[i] * s[i] + c[i];
    } else {
      AH_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) to[i] = x[i] * s[i] + y[i] * t[i] + c[i];
    }
  });
}

void dot_rows(Dtype dtype, int64_t n, double* total, const void* a, const void* b) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    const T* x = as<T>(a);
    const T* y = as<T>(b);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  });
}

// A network of exchanges: odd-even transposition.
void sort_columns(Dtype dtype, int64_t columns, int64_t rows, void* data) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    for (int64_t round = 0; round < rows; ++round) {
      for (int64_t row = round % 2; row + 1 < rows; row += 2) {
        T* low = as<T>(data) + row * columns;
        T* high = low + columns;
        AH_INDEPENDENT
        for (int64_t i = 0; i < columns; ++i) {
          const T a = low[i];
          const T b = high[i];
          low[i] = a < b ? a : b;
          high[i] = a < b ? b : a;
        }
      }
    }
  });
}

void dropout(Dtype dtype, int64_t n, void* out, const void* a, uint64_t key, int64_t first, uint32_t least,
             double scale) noexcept {
  const auto low = static_cast<uint32_t>(key);
  const auto high = static_cast<uint32_t>(key >> 32);
  by_dtype(dtype, [=]<typename T>(T) {
    T* to = as<T>(out);
    const T* from = as<T>(a);
    const T factor = static_cast<T>(scale);
    const auto start = static_cast<uint32_t>(first);
    AH_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t drawn = mixed((start + static_cast<uint32_t>(i) + low) ^ high);
      to[i] = drawn >= least ? from[i] * factor : T{0};
    }
  });
}

void softmax_grad(Dtype dtype, int64_t rows, int64_t columns, void* out, const void* grad, const void* y) noexcept {
  by_dtype(dtype, [=]<typename T>(T) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* g = as<T>(grad) + r * columns;
      const T* p = as<T>(y) + r * columns;
      T* to = as<T>(out) + r * columns;
      double along = 0;
      for (int64_t i = 0; i < columns; ++i) along += static_cast<double>(g[i]) * static_cast<double>(p[i]);
      const T mean = static_cast<T>(along);
      for (int64_t i = 0; i < columns; ++i) to[i] = p[i] * (g[i] - mean);
    }
  });
}

}  // namespace actorhost::kernel::AH_ISA
