#pragma once
// Kernels over n-dimensional strided views: iteration order, broadcasting, and the reductions and copies that need
// more than one inner loop. Views borrow their memory. All functions are stateless and thread-safe; outputs and inputs
// may overlap only when they are the same view (callers check with `overlaps`). Shapes are the caller's duty: an
// operand's shape equals the output's (use `broadcast_to`), which is asserted.

#include <array>
#include <cstdint>

#include "host/base/tensor.hpp"
#include "host/kernel/kernels.hpp"
#include "host/kernel/whole.hpp"

namespace actorhost::kernel {

/// Address of element number `element` of an array.
inline void* element_at(Dtype dtype, void* data, int64_t element) noexcept {
  return static_cast<char*>(data) + element * static_cast<int64_t>(dtype_size(dtype));
}
inline const void* element_at(Dtype dtype, const void* data, int64_t element) noexcept {
  return static_cast<const char*>(data) + element * static_cast<int64_t>(dtype_size(dtype));
}

struct View {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Shape shape = {};
  std::array<int64_t, Shape::kMaxRank> steps = {};  // in elements

  int64_t size() const noexcept { return shape.elements(); }
  /// Row-major without gaps.
  bool contiguous() const noexcept;
  /// Address of the element `offset` elements from the first.
  void* at(int64_t offset) const noexcept { return element_at(dtype, data, offset); }
};

/// The row-major view of `data`.
View row_major(void* data, Dtype dtype, const Shape& shape) noexcept;

/// The common shape of a and b by NumPy's rules (aligned at the last dimension, 1 stretches); false when they don't
/// fit.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out) noexcept;

/// `a` stretched to the shape of `like` with steps of 0; false when it doesn't fit.
bool broadcast_to(const View& a, const View& like, View& out) noexcept;

/// True when the two share memory without being the same view, so that writing one changes what is read of the other.
bool overlaps(const View& out, const View& in) noexcept;

/// `out` has elements of result_of(op, type of a); b has a's. whole.hpp says what each element type takes.
void unary(const Kernels& k, Unary op, const View& out, const View& a) noexcept;
void binary(const Kernels& k, Binary op, const View& out, const View& a, const View& b) noexcept;
/// out = cond ? a : b; cond has truth values, the others one element type.
void choose(const View& out, const View& cond, const View& a, const View& b) noexcept;
/// y += alpha * x, of floats
void axpy(const Kernels& k, double alpha, const View& x, const View& y) noexcept;
/// Converts between element types; what whole numbers do not hold is the caller's to find first (first_unfit).
void copy(const Kernels& k, const View& out, const View& a) noexcept;
void fill(const Kernels& k, const View& out, double value) noexcept;
bool is_finite(const Kernels& k, const View& a) noexcept;

enum class Reduction : int32_t { sum, mean, max, min, norm, prod };

/// Over all elements of a float view, not prod; a contiguous view in the order of Kernels::reduce, others row by row.
/// mean of nothing is NaN.
double reduce_all(const Kernels& k, Reduction op, const View& a) noexcept;

/// The element type of a reduction: sums and products of whole numbers are int64, their mean and norm float32.
Dtype reduced_type(Reduction op, Dtype dtype) noexcept;

/// Over dimension `dim`; `out` has the shape of `a` with 1 in that place and elements of reduced_type. Floats along the
/// fastest dimension in the order of Kernels::reduce, along another one row after row in double. Throws std::bad_alloc.
void reduce_dim(const Kernels& k, Reduction op, const View& a, int dim, const View& out);

/// Running sums or products along `dim`; `out` has the shape of `a` and int64 elements for whole numbers, else a's.
void running_dim(Fold op, const View& a, int dim, const View& out) noexcept;

/// Index (from 0) of the largest element along `dim`, written as a number. The dimension is not empty.
void arg_max_dim(const Kernels& k, const View& a, int dim, bool smallest, const View& out) noexcept;

/// Whether |a - b| <= atol + rtol * |b| everywhere; equal infinities are close, NaN is close to NaN only with
/// `nan_equal`. With both tolerances 0 this is equality.
bool all_close(const Kernels& k, const View& a, const View& b, double rtol, double atol, bool nan_equal) noexcept;

}  // namespace actorhost::kernel
