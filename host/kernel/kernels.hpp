#pragma once
// The numeric inner loops as one table of function pointers per instruction set: the same sources (isa/*.cpp)
// are compiled for baseline x86-64 (SSE2), x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512), and `kernels()`
// hands out the best one that this CPU runs. The tables are constant; every function is stateless,
// thread-safe, allocates nothing and never throws. Steps are in elements,
// pointers need the alignment of their element only. Aliasing: an output may be exactly one of the inputs
// (same pointer, same step) and must otherwise not overlap any.
//
// Determinism. Everything but gemm is written without fused multiply-add and with a fixed order of summation, so its
// results are the same bits on every instruction set, at every alignment and step. A gemm result depends on the
// instruction set, the shape and the transposes only. pow of float64 is the C library's.
//
// This header is compiled for every instruction set, so what is inline in it and in what it includes is always inlined.

#include <stddef.h>
#include <stdint.h>

#include "host/base/dtype.hpp"

namespace actorhost::kernel {

/// Those after `sign` have no kernel in these tables: they run in whole.cpp. Those from is_nan on give truth values.
enum class Unary : int32_t {
  neg,
  exp,
  log,
  sqrt,
  tanh,
  sigmoid,
  relu,
  abs,
  square,
  sign,
  floor,
  ceil,
  round,
  trunc,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  log1p,
  expm1,
  log2,
  log10,
  reciprocal,
  is_nan,
  is_inf,
  is_finite,
  logical_not
};

/// Comparisons give truth values (b8). max and min give NaN where either operand is NaN.
/// relu_grad(g, y) is g where y > 0 and 0 elsewhere; tanh_grad(g, y) is g * (1 - y^2).
/// Those after `tanh_grad` have no kernel in these tables: they run in whole.cpp. mod has the sign of the divisor and
/// floor_div rounds down. The logical ones give truth values.
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
  tanh_grad,
  mod,
  floor_div,
  atan2,
  hypot,
  logical_and,
  logical_or,
  logical_xor
};

/// max and min give NaN where there is one.
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

/// A row-major matrix, or its transpose: element (i, j) of the operand is at data[i * lead + j], with `transposed`
/// at data[j * lead + i].
struct Operand {
  const void* data;
  int64_t lead;
  bool transposed;
};

struct Kernels {
  const char* isa;  // "sse2", "v3" or "v4"

  // Elementwise, n elements. A step of 0 repeats a value.
  void (*unary)(Unary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step) noexcept;
  void (*binary)(Binary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step,
                 const void* b, int64_t b_step) noexcept;
  /// Copies, converting when the types differ.
  void (*copy)(Dtype out_dtype, int64_t n, void* out, int64_t out_step, Dtype dtype, const void* a,
               int64_t a_step) noexcept;
  /// A transposed matrix: out[i * out_lead + j] = a[j * a_lead + i] for i < rows, j < columns.
  void (*copy_turned)(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
                      int64_t a_lead) noexcept;
  void (*fill)(Dtype dtype, int64_t n, void* out, int64_t out_step, double value) noexcept;
  /// out = bytes * scale + shift, contiguous.
  void (*from_bytes)(Dtype dtype, int64_t n, void* out, const uint8_t* bytes, double scale, double shift) noexcept;
  bool (*is_finite)(Dtype dtype, int64_t n, const void* a, int64_t a_step) noexcept;

  // Reductions. Sums run in 32 lanes of the element type over blocks of 4096 elements; lanes are folded pairwise and
  // blocks added in double, so float32 sums of millions of elements keep about 6 digits.
  /// sum and sum_squares of nothing are 0, max is -inf and min inf.
  double (*reduce)(Reduce op, Dtype dtype, int64_t n, const void* a, int64_t step) noexcept;
  /// total[i] = total[i] op a[i]: reduces over rows, in double. `total` starts as reduce of nothing.
  void (*reduce_rows)(Reduce op, Dtype dtype, int64_t n, double* total, const void* a, int64_t step) noexcept;
  /// Index of the first largest (smallest with `smallest`) element, the first NaN if there is one; n > 0.
  int64_t (*arg_max)(Dtype dtype, int64_t n, const void* a, int64_t step, bool smallest) noexcept;

  /// The same over rows, which are given one after the other from row 0 on: best[i], of the element type, and at[i],
  /// its row, after a[i] of row `row`.
  void (*arg_max_rows)(Dtype dtype, int64_t n, void* best, double* at, const void* a, int64_t step, int64_t row,
                       bool smallest) noexcept;
  /// Whether |a - b| <= atol + rtol * |b| for all elements; equal infinities are close, NaN is close to NaN only with
  /// `nan_equal`.
  bool (*all_close)(int64_t n, Dtype a_dtype, const void* a, int64_t a_step, Dtype b_dtype, const void* b,
                    int64_t b_step, double rtol, double atol, bool nan_equal) noexcept;

  // Rows of scores, contiguous within a row; leads are the distances between rows.
  /// out = softmax of each row; may be in place.
  void (*softmax)(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
                  int64_t a_lead) noexcept;
  /// Sum over rows of -log softmax(row)[labels[row]], labels 0 .. columns-1. Unless `grad` is null also
  /// grad = (softmax(row) - one_hot(label)) * grad_scale; grad may be the scores themselves.
  double (*cross_entropy)(Dtype dtype, int64_t rows, int64_t columns, const void* scores, int64_t lead,
                          const int32_t* labels, void* grad, int64_t grad_lead, double grad_scale) noexcept;

  /// Columns [from, to) (rows with `by_rows`) of c = alpha * a b, or c += alpha * a b with `accumulate`, where a is
  /// m x k, b is k x n and c is m x n row-major. Cutting the range at multiples of kGemmGrain gives the same bits as
  /// one call. Where a or b is a vector (m or n is 1) its elements lie without gaps. `scratch` is room for
  /// gemm_scratch(...) bytes, 64-byte aligned.
  void (*gemm)(Dtype dtype, int64_t m, int64_t n, int64_t k, double alpha, const Operand& a, const Operand& b, void* c,
               int64_t c_lead, bool accumulate, bool by_rows, int64_t from, int64_t to, void* scratch) noexcept;
  size_t (*gemm_scratch)(Dtype dtype, int64_t m, int64_t n, int64_t k) noexcept;

  // Optimisers: elementwise over n contiguous elements, so a parameter split into pieces gives the same bits.
  /// y += alpha * x
  void (*axpy)(Dtype dtype, int64_t n, double alpha, const void* x, int64_t x_step, void* y, int64_t y_step) noexcept;
  /// `velocity` may be null when momentum is 0.
  void (*sgd)(Dtype dtype, int64_t n, const SgdStep& step, const void* grad, void* velocity, void* weights) noexcept;
  void (*adagrad)(Dtype dtype, int64_t n, const AdagradStep& step, const void* grad, void* squares,
                  void* weights) noexcept;
  void (*adam)(Dtype dtype, int64_t n, const AdamStep& step, const void* grad, void* mean, void* variance,
               void* weights) noexcept;

  // Compression (host/engine/filter/filter.hpp), contiguous; outputs do not overlap inputs.
  /// IEEE 754 halves: nearest, ties to even; subnormal ones are exact multiples of 2^-24; NaN keeps its sign and upper
  /// bits and is quiet. False when a finite element was too large and has become infinite.
  bool (*to_half)(Dtype dtype, int64_t n, uint16_t* out, const void* a) noexcept;
  void (*from_half)(Dtype dtype, int64_t n, void* out, const uint16_t* halves) noexcept;
  /// One block, n > 0: its smallest and largest element into range[0] and range[1] (of the element type), and for each
  /// element the nearest of 256 levels, which lie evenly from the one to the other. False when an element is infinite
  /// or NaN; `out` and `range` then hold nothing of use.
  bool (*quantise)(Dtype dtype, int64_t n, uint8_t* out, void* range, const void* a) noexcept;
  /// Back, with an error of half a step (a 510th of the range) and rounding at most. Equal elements come back exactly.
  /// range[0] <= range[1] are finite.
  void (*dequantise)(Dtype dtype, int64_t n, void* out, const void* range, const uint8_t* levels) noexcept;
  /// rest -= sent, and 0 where that is infinite or NaN: what error feedback keeps.
  void (*rest_of)(Dtype dtype, int64_t n, void* rest, const void* sent) noexcept;
  /// Adds to counts[b], or to counts[kMagnitudes + b], one for each element whose magnitude (its bits but for the sign,
  /// so NaN is above infinity) begins with the kMagnitudeBits bits b. 2 * kMagnitudes counts; n < 2^32.
  void (*count_magnitudes)(Dtype dtype, int64_t n, uint32_t* counts, const void* a) noexcept;
  /// Sets bit i % 64 of marks[i / 64] where the magnitude of element i, as a whole number, is at least `least`, and
  /// clears all others of the words up to the one of element n - 1.
  void (*mark_magnitudes)(Dtype dtype, int64_t n, uint64_t* marks, const void* a, uint64_t least) noexcept;
};

/// How finely count_magnitudes counts: the exponent and some bits more.
inline constexpr int kMagnitudeBits = 12;
inline constexpr int kMagnitudes = 1 << kMagnitudeBits;

/// A multiple of every kernel's register tile, in rows and columns.
inline constexpr int64_t kGemmGrain = 96;

enum class Isa : int32_t { sse2, v3, v4 };

/// The kernels of one instruction set, or nullptr when this CPU (or build) lacks it.
const Kernels* kernels_for(Isa isa) noexcept;

/// The best kernels that this CPU runs, or the ones that ACTORHOST_ISA=sse2|v3|v4 asks for (when the CPU has
/// them; other values are ignored). Decided at the first call.
const Kernels& kernels() noexcept;

}  // namespace actorhost::kernel
