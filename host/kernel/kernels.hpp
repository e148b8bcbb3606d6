#pragma once
// The numeric inner loops as one table of function pointers per instruction set: the same sources (isa/*.cpp)
// are compiled for baseline x86-64 (SSE2), x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512), and `kernels()`
// hands out the best one that this CPU runs. The tables are constant; every function is stateless,
// thread-safe, allocates nothing (gemm excepted: packing buffers) and never throws. Steps are in elements,
// pointers need the alignment of their element only. Aliasing: an output may be exactly one of the inputs
// (same pointer, same step) and must otherwise not overlap any.
//
// Determinism. Everything but gemm and pow is written without fused multiply-add and with a fixed order of
// summation, so its results are the same bits on every instruction set, at every alignment and step. A gemm
// result depends on the instruction set, the shape and the transposes only; pow is the C library's.
//
// This header is compiled for every instruction set, so it includes nothing that has inline functions.

#include <stddef.h>
#include <stdint.h>

namespace actorhost::kernel {

enum class Dtype : int32_t { f32 = 0, f64 = 1 };

inline constexpr size_t dtype_size(Dtype dtype) noexcept {
  return dtype == Dtype::f32 ? 4 : 8;
}

enum class Unary : int32_t { neg, exp, log, sqrt, tanh, sigmoid, relu, abs, square, sign };

/// Comparisons give 0 or 1 in the operands' type. max and min give NaN where either operand is NaN.
/// relu_grad(g, y) is g where y > 0 and 0 elsewhere; tanh_grad(g, y) is g * (1 - y^2).
enum class Binary : int32_t {
  add,
  sub,
  mul,
  div,
  max,
  min,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  relu_grad,
  tanh_grad
};

enum class Reduce : int32_t { sum, max, min, sum_squares };

/// w -= lr * d with g' = g + weight_decay * w, v = momentum * v + g', d = nesterov ? g' + momentum * v : v.
struct SgdStep {
  double lr;
  double momentum;
  double weight_decay;
  bool nesterov;
};

/// a += g'^2; w -= lr * g' / (sqrt(a) + epsilon), g' as above.
struct AdagradStep {
  double lr;
  double epsilon;
  double weight_decay;
};

/// m = beta1 m + (1 - beta1) g'; v = beta2 v + (1 - beta2) g'^2;
/// w -= lr / correction1 * m / (sqrt(v) / sqrt(correction2) + epsilon), where correctionN = 1 - betaN^t.
struct AdamStep {
  double lr;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  double correction1;
  double correction2;
};

struct Kernels {
  const char* isa;  // "sse2", "v3" or "v4"

  // Optimisers: elementwise over n contiguous elements, so a parameter split into pieces gives the same bits.
  /// y += alpha * x
  void (*axpy)(Dtype dtype, int64_t n, double alpha, const void* x, int64_t x_step, void* y,
               int64_t y_step) noexcept;
  /// `velocity` may be null when momentum is 0.
  void (*sgd)(Dtype dtype, int64_t n, const SgdStep& step, const void* grad, void* velocity,
              void* weights) noexcept;
  void (*adagrad)(Dtype dtype, int64_t n, const AdagradStep& step, const void* grad, void* squares,
                  void* weights) noexcept;
  void (*adam)(Dtype dtype, int64_t n, const AdamStep& step, const void* grad, void* mean, void* variance,
               void* weights) noexcept;
};

enum class Isa : int32_t { sse2, v3, v4 };

/// The kernels of one instruction set, or nullptr when this CPU (or build) lacks it.
const Kernels* kernels_for(Isa isa) noexcept;

/// The best kernels that this CPU runs, or the ones that ACTORHOST_ISA=sse2|v3|v4 asks for (when the CPU has
/// them; other values are ignored). Decided at the first call.
const Kernels& kernels() noexcept;

}  // namespace actorhost::kernel
