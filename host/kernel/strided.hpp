#pragma once
// Kernels over n-dimensional strided views: iteration order, broadcasting, and reductions and copies that need more
// than one inner loop. Views borrow their memory. All functions are stateless and thread-safe. An output may overlap an
// input only if both are the same view (callers check with `overlaps`). The caller ensures that an operand's shape
// equals the output's (use `broadcast_to`); this is asserted.

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
  /// Whether the view is row-major without gaps.
  bool contiguous() const noexcept;
  /// Address of the element `offset` elements after the first.
  void* at(int64_t offset) const noexcept { return element_at(dtype, data, offset); }
};

/// The row-major view of `data`.
View row_major(void* data, Dtype dtype, const Shape& shape) noexcept;

/// The common shape of a and b by NumPy's rules (aligned at the last dimension, size 1 expands); false if the shapes
/// are incompatible.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out) noexcept;

/// Expands `a` to the shape of `like` with steps of 0; false if the shapes are incompatible.
bool broadcast_to(const View& a, const View& like, View& out) noexcept;

/// Whether the views share memory without being the same view, so that a write to `out` changes `in`.
bool overlaps(const View& out, const View& in) noexcept;

/// `out` has elements of result_of(op, type of a); b has a's type. whole.hpp lists the operations of each element type.
void unary(const Kernels& k, Unary op, const View& out, const View& a) noexcept;
void binary(const Kernels& k, Binary op, const View& out, const View& a, const View& b) noexcept;
/// out = cond ? a : b; cond has truth values, the others share one element type.
void choose(const View& out, const View& cond, const View& a, const View& b) noexcept;
/// y += alpha * x, for floating-point types.
void axpy(const Kernels& k, double alpha, const View& x, const View& y) noexcept;
/// Converts between element types; the caller first excludes values that the target cannot hold (first_unfit).
void copy(const Kernels& k, const View& out, const View& a) noexcept;
void fill(const Kernels& k, const View& out, double value) noexcept;
bool is_finite(const Kernels& k, const View& a) noexcept;

enum class Reduction : int32_t { sum, mean, max, min, norm, prod };

/// Over all elements of a floating-point view, not prod. A contiguous view is reduced in the order of Kernels::reduce,
/// other views row by row. The mean of an empty view is NaN.
double reduce_all(const Kernels& k, Reduction op, const View& a) noexcept;

/// The element type of a reduction: sums and products of integers are int64, their mean and norm float32.
Dtype reduced_type(Reduction op, Dtype dtype) noexcept;

/// Over dimension `dim`; `out` has the shape of `a` with 1 in this dimension and elements of reduced_type. Floats are
/// reduced along the fastest dimension in the order of Kernels::reduce, along other dimensions row by row in double.
/// Throws std::bad_alloc.
void reduce_dim(const Kernels& k, Reduction op, const View& a, int dim, const View& out);

/// Running sums or products along `dim`; `out` has the shape of `a` and int64 elements for integers, else a's type.
void running_dim(Fold op, const View& a, int dim, const View& out) noexcept;

/// Index (from 0) of the largest element (smallest with `smallest`) along `dim`, which must not be empty, as a number
/// in `out`.
void arg_max_dim(const Kernels& k, const View& a, int dim, bool smallest, const View& out) noexcept;

/// Whether |a - b| <= atol + rtol * |b| everywhere; equal infinities are close, NaN is close to NaN only with
/// `nan_equal`. With both tolerances 0 this is equality.
bool all_close(const Kernels& k, const View& a, const View& b, double rtol, double atol, bool nan_equal) noexcept;

}  // namespace actorhost::kernel
