#pragma once
// The numeric inner loops as one table of function pointers per instruction set. The same sources (isa/*.cpp) are
// compiled for baseline x86-64 (SSE2), x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512), and `kernels()` returns the best
// table for this CPU. The tables are constant. Every function is stateless, thread-safe, allocates nothing and never
// throws. Steps are in elements; pointers need only the alignment of their element. Aliasing: an output may be exactly
// one of the inputs (same pointer, same step) and must otherwise not overlap any input.
//
// Determinism. Everything but step_product fixes each rounding and the order of summation, so its results are the same
// bits on every instruction set, at every alignment and step. A result of step_product depends on whether the
// instruction set has a fused multiply-add.
//
// This header is compiled for every instruction set, so each inline function in it and in its includes is always
// inlined.

#include <stddef.h>
#include <stdint.h>

#include "host/base/dtype.hpp"

namespace actorhost::kernel {

/// Operations after `gelu` have no kernel in these tables: they run in whole.cpp. Operations from is_nan on return
/// truth values. gelu is x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). Source: Hendrycks, Gimpel, Gaussian
/// error linear units, 2016.
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
  gelu,
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

/// Comparisons return truth values (b8). max and min return NaN if either operand is NaN.
/// relu_grad(g, y) is g where y > 0 and 0 elsewhere; tanh_grad(g, y) is g * (1 - y^2), sigmoid_grad(g, y) is
/// g * y * (1 - y); gelu_grad(g, x) takes gelu's argument.
/// Operations after `gelu_grad` have no kernel in these tables: they run in whole.cpp. mod has the sign of the divisor
/// and floor_div rounds down. The logical operations return truth values.
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
  sigmoid_grad,
  gelu_grad,
  mod,
  floor_div,
  atan2,
  hypot,
  logical_and,
  logical_or,
  logical_xor
};

/// max and min return NaN if an element is NaN.
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

/// a = alpha a + (1 - alpha) g'^2, d = g' / (sqrt(a) + epsilon), g' as above; without momentum w -= lr * d, with it
/// v = momentum * v + d and w -= lr * v.
struct RmspropStep {
  double lr;
  double alpha;
  double epsilon;
  double momentum;
  double weight_decay;
};

/// m = beta1 m + (1 - beta1) g'; v = beta2 v + (1 - beta2) g'^2;
/// w = keep * w - lr / correction1 * m / (sqrt(v) / sqrt(correction2) + epsilon), where correctionN = 1 - betaN^t.
struct AdamStep {
  double lr;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  double keep;  // 1, or with decoupled weight decay the factor on the weight
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

/// A product of a matrix a, addressed by steps, and a panel b of a few contiguous columns. For i < rows and j < columns
///   c[i * c_step + j] = start[j] + the sum over n < batch, then p < outer, then q < inner, in this order, of
///                       a[i * a_step + n * a_batch + p * a_outer + q * a_inner] *
///                       b[n * b_batch + p * b_outer + q * b_inner + j].
/// The matrix a can be an image as stored in memory, or its transpose. columns <= step_panel(dtype). At every read
/// position, b and start have step_panel(dtype) readable elements, or half as many if `columns` is at most this half.
/// With `accumulate` the sum is added to c, with `relu` negative results become 0 (not both).
struct StepProduct {
  int64_t rows, columns, batch, outer, inner;
  const void* a;
  int64_t a_step, a_batch, a_outer, a_inner;
  const void* b;
  int64_t b_batch, b_outer, b_inner;
  const void* start;
  void* c;
  int64_t c_step;
  bool accumulate, relu;
};

/// Windows of kernel_h x kernel_w pixels over images (height, width, channels). Window (y, x) of the result begins at
/// row y * stride_h - pad_top and column x * stride_w - pad_left, which may be outside of the image. Pixels outside of
/// the image count as 0 in a convolution and are ignored in pooling.
struct Windows {
  int64_t batch, height, width, channels;
  int64_t kernel_h, kernel_w, stride_h, stride_w;
  int64_t pad_top, pad_left;
  int64_t out_h, out_w;
};

enum class Pooling : int32_t { max, average };

struct Kernels {
  const char* isa;  // "sse2", "v3" or "v4"

  // Elementwise, n elements. A step of 0 repeats a value.
  void (*unary)(Unary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step) noexcept;
  void (*binary)(Binary op, Dtype dtype, int64_t n, void* out, int64_t out_step, const void* a, int64_t a_step,
                 const void* b, int64_t b_step) noexcept;
  /// Copies, with conversion between different types.
  void (*copy)(Dtype out_dtype, int64_t n, void* out, int64_t out_step, Dtype dtype, const void* a,
               int64_t a_step) noexcept;
  /// Transposes a matrix: out[i * out_lead + j] = a[j * a_lead + i] for i < rows, j < columns.
  void (*copy_turned)(Dtype dtype, int64_t rows, int64_t columns, void* out, int64_t out_lead, const void* a,
                      int64_t a_lead) noexcept;
  void (*fill)(Dtype dtype, int64_t n, void* out, int64_t out_step, double value) noexcept;
  /// out = bytes * scale + shift, contiguous.
  void (*from_bytes)(Dtype dtype, int64_t n, void* out, const uint8_t* bytes, double scale, double shift) noexcept;
  bool (*is_finite)(Dtype dtype, int64_t n, const void* a, int64_t a_step) noexcept;

  // Reductions. Sums run in 32 lanes of the element type over blocks of 4096 elements; lanes are folded pairwise and
  // blocks added in double, so float32 sums of millions of elements keep about 6 digits.
  /// For n = 0, sum and sum_squares are 0, max is -inf and min is inf.
  double (*reduce)(Reduce op, Dtype dtype, int64_t n, const void* a, int64_t step) noexcept;
  /// total[i] = total[i] op a[i]: reduces over rows, in double. `total` starts as the reduction of n = 0.
  void (*reduce_rows)(Reduce op, Dtype dtype, int64_t n, double* total, const void* a, int64_t step) noexcept;
  /// Of n > 0 consecutive integers (u8, i32, i64): the largest or smallest, and the sum, which wraps.
  int64_t (*integer_best)(Dtype dtype, int64_t n, const void* a, bool smallest) noexcept;
  int64_t (*integer_sum)(Dtype dtype, int64_t n, const void* a) noexcept;
  /// Index of the first largest (smallest with `smallest`) element, or of the first NaN; n > 0.
  int64_t (*arg_max)(Dtype dtype, int64_t n, const void* a, int64_t step, bool smallest) noexcept;

  /// The same over rows, for calls with rows 0, 1, 2, ... in order: updates best[i] (of the element type) and its row
  /// at[i] with a[i] of row `row`.
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

  /// The product of a matrix, count x depth, and a contiguous vector x: out[i * out_step] = alpha * entry i, or += with
  /// `accumulate`.
  void (*matrix_vector)(Dtype dtype, int64_t count, int64_t depth, double alpha, const Operand& matrix, const void* x,
                        void* out, int64_t out_step, bool accumulate) noexcept;
  void (*step_product)(Dtype dtype, const StepProduct& product) noexcept;
  /// The columns of a panel of StepProduct, an even number: two registers.
  int64_t (*step_panel)(Dtype dtype) noexcept;

  // Pooling of one image (conv.hpp). `places` may be null for averages.
  void (*pool_windows)(Pooling pooling, Dtype dtype, const Windows& w, const void* in, void* out,
                       uint16_t* places) noexcept;
  /// in_grad need not be initialised.
  void (*unpool_windows)(Pooling pooling, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                         void* in_grad) noexcept;

  // Layers; arrays are contiguous.
  /// out = a * a_scale + b * b_scale + shift, elementwise; without b (null) a * a_scale + shift. May be in place.
  void (*affine)(Dtype dtype, int64_t n, void* out, const void* a, const void* a_scale, const void* b,
                 const void* b_scale, const void* shift) noexcept;
  /// total[i] += a[i] * b[i], in double.
  void (*dot_rows)(Dtype dtype, int64_t n, double* total, const void* a, const void* b) noexcept;
  /// Sorts each column of a matrix of contiguous rows, without NaN. Takes rows^2 / 2 exchanges.
  void (*sort_columns)(Dtype dtype, int64_t columns, int64_t rows, void* data) noexcept;
  /// out[i] = a[i] * scale, or 0 if the 32-bit random number of element first + i of `key` is below `least`. The same
  /// key, element and `least` give the same decision. May be in place.
  void (*dropout)(Dtype dtype, int64_t n, void* out, const void* a, uint64_t key, int64_t first, uint32_t least,
                  double scale) noexcept;
  /// The gradient of softmax's input, row by row, from the gradient of its result y. May be in place of `grad`.
  void (*softmax_grad)(Dtype dtype, int64_t rows, int64_t columns, void* out, const void* grad, const void* y) noexcept;

  // Optimisers: elementwise over n contiguous elements, so a split parameter gives the same bits.
  /// y += alpha * x
  void (*axpy)(Dtype dtype, int64_t n, double alpha, const void* x, int64_t x_step, void* y, int64_t y_step) noexcept;
  /// `velocity` may be null if momentum is 0.
  void (*sgd)(Dtype dtype, int64_t n, const SgdStep& step, const void* grad, void* velocity, void* weights) noexcept;
  void (*adagrad)(Dtype dtype, int64_t n, const AdagradStep& step, const void* grad, void* squares,
                  void* weights) noexcept;
  /// `velocity` may be null if momentum is 0.
  void (*rmsprop)(Dtype dtype, int64_t n, const RmspropStep& step, const void* grad, void* squares, void* velocity,
                  void* weights) noexcept;
  void (*adam)(Dtype dtype, int64_t n, const AdamStep& step, const void* grad, void* mean, void* variance,
               void* weights) noexcept;

  // Compression (host/engine/filter/filter.hpp), contiguous; outputs do not overlap inputs.
  /// IEEE 754 half precision: rounds to nearest, ties to even. Subnormal halves are exact multiples of 2^-24; NaN keeps
  /// its sign and upper bits and becomes quiet. Returns false if a finite element became infinite.
  bool (*to_half)(Dtype dtype, int64_t n, uint16_t* out, const void* a) noexcept;
  void (*from_half)(Dtype dtype, int64_t n, void* out, const uint16_t* halves) noexcept;
  /// Quantises one block, n > 0: writes its smallest and largest element to range[0] and range[1] (of the element
  /// type), and for each element the nearest of 256 levels, spaced evenly between them. Returns false if an element is
  /// infinite or NaN; `out` and `range` are then unspecified.
  bool (*quantise)(Dtype dtype, int64_t n, uint8_t* out, void* range, const void* a) noexcept;
  /// The inverse of quantise, with an error of at most half a step (a 510th of the range) and rounding. A block of
  /// equal elements is restored exactly. range[0] <= range[1] are finite.
  void (*dequantise)(Dtype dtype, int64_t n, void* out, const void* range, const uint8_t* levels) noexcept;
  /// residual -= sent, for error feedback; infinite and NaN results become 0.
  void (*residual_of)(Dtype dtype, int64_t n, void* residual, const void* sent) noexcept;
  /// Counts magnitudes by their upper bits. A magnitude is the element's bits without the sign, so NaN is above
  /// infinity. For each element with upper kMagnitudeBits bits b, increments counts[b] or counts[kMagnitudes + b].
  /// `counts` has 2 * kMagnitudes entries; n < 2^32.
  void (*count_magnitudes)(Dtype dtype, int64_t n, uint32_t* counts, const void* a) noexcept;
  /// Sets bit i % 64 of marks[i / 64] if the magnitude of element i, as an integer, is at least `least`. Clears all
  /// other bits up to the end of the word of element n - 1.
  void (*mark_magnitudes)(Dtype dtype, int64_t n, uint64_t* marks, const void* a, uint64_t least) noexcept;
};

/// The resolution of count_magnitudes: the exponent and a few more bits.
inline constexpr int kMagnitudeBits = 12;
inline constexpr int kMagnitudes = 1 << kMagnitudeBits;

enum class Isa : int32_t { sse2, v3, v4 };

/// The kernels of one instruction set, or nullptr if this CPU (or build) lacks it.
const Kernels* kernels_for(Isa isa) noexcept;

/// The best kernels for this CPU, or the kernels of ACTORHOST_ISA=sse2|v3|v4 if the CPU supports them; other values are
/// ignored. Chosen at the first call.
const Kernels& kernels() noexcept;

}  // namespace actorhost::kernel
