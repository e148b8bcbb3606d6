#pragma once
// Inner loops for operations and element types without an entry in kernels(): arithmetic of integers and truth values,
// conversions, and functions of floats from the C library. strided.cpp chooses between the two. Sums and products of
// integers wrap. Steps are in elements; a step of 0 repeats a value. Pure functions, any thread.

#include <cstdint>
#include <type_traits>

#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

/// An element of b8. Any nonzero byte is true.
struct Truth {
  uint8_t byte = 0;
  Truth() = default;
  constexpr Truth(bool value) noexcept : byte(value ? 1 : 0) {}
  constexpr operator bool() const noexcept { return byte != 0; }
};

/// Calls f with a value of the C++ type of `dtype`.
template <typename F>
auto with_type(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::f32: return f(float{});
    case Dtype::f64: return f(double{});
    case Dtype::i32: return f(int32_t{});
    case Dtype::i64: return f(int64_t{});
    case Dtype::u8: return f(uint8_t{});
    case Dtype::b8: break;
  }
  return f(Truth{});
}

/// A run of elements.
struct Run {
  void* at;
  int64_t step;
};
struct ConstRun {
  const void* at;
  int64_t step;
};

/// Whether kernels() has the operation for this element type.
inline bool has_kernel(Unary op, Dtype dtype) noexcept { return is_floating(dtype) && op <= Unary::gelu; }
inline bool has_kernel(Binary op, Dtype dtype) noexcept { return is_floating(dtype) && op <= Binary::gelu_grad; }

/// The element type of an operation's result.
Dtype result_of(Unary op, Dtype dtype) noexcept;
Dtype result_of(Binary op, Dtype dtype) noexcept;

/// Functions without an integer form (exp, sin, reciprocal ...) are for floats only.
void whole_unary(Unary op, Dtype dtype, int64_t n, Run out, ConstRun a) noexcept;
/// div, the gradients, atan2 and hypot are for floats only. For integers, mod and floor_div require b != 0 and pow
/// requires b >= 0 (first_unfit).
void whole_binary(Binary op, Dtype dtype, int64_t n, Run out, ConstRun a, ConstRun b) noexcept;
/// Converts. Floats are truncated and must be in range (first_unfit). Any nonzero number is true.
void whole_copy(Dtype out_dtype, int64_t n, Run out, Dtype dtype, ConstRun a) noexcept;
void whole_fill(Dtype dtype, int64_t n, Run out, double value) noexcept;
/// out[i] = cond[i] ? a[i] : b[i]; a, b and out have elements of `size` bytes, cond has truth values.
void choose(size_t size, int64_t n, Run out, ConstRun cond, ConstRun a, ConstRun b) noexcept;

enum class Fold : int32_t { sum, prod, max, min, sum_squares, sum_for_mean };

/// The type that `op` computes in: int64 for sums and products of integers; float64 for products and sums of floats,
/// for squares, and for the sum of a mean, which could wrap in int64; otherwise the element type.
Dtype fold_type(Fold op, Dtype dtype) noexcept;
/// total[i] = total[i] op a[i], in order; with step 0, a run folds into one total. Totals are of fold_type.
void fold(Fold op, Dtype dtype, int64_t n, Run total, ConstRun a) noexcept;
/// Sets n elements of fold_type to the initial value of op; for max the lowest value, for min the greatest.
void fold_start(Fold op, Dtype dtype, int64_t n, void* total) noexcept;
/// out[i] = a[0] op ... op a[i], with out of fold_type for integers, else of the element type; sum or prod.
void running(Fold op, Dtype dtype, int64_t n, Run out, ConstRun a) noexcept;

/// Index of the first largest (smallest) element; n > 0.
int64_t whole_arg_max(Dtype dtype, int64_t n, ConstRun a, bool smallest) noexcept;

/// As Kernels::all_close; exact if both types are integers and both tolerances are 0.
bool whole_all_close(int64_t n, Dtype a_dtype, ConstRun a, Dtype b_dtype, ConstRun b, double rtol,
                     double atol) noexcept;

/// Index of the first of n contiguous elements that `to` cannot hold (NaN or out of range); n if there is none.
int64_t first_unfit(Dtype to, Dtype dtype, int64_t n, const void* a) noexcept;
/// Index of the first of n contiguous elements that is invalid as right operand of an integer `op` (whole_binary); n if
/// there is none.
int64_t first_unfit(Binary op, Dtype dtype, int64_t n, const void* a) noexcept;
/// The element as a float64, possibly rounded.
double number_at(Dtype dtype, const void* at) noexcept;

}  // namespace actorhost::kernel
