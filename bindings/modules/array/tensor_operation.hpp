#pragma once
// Helpers only for the operations of tensor_api.cpp, tensor_elementwise.cpp, tensor_algebra.cpp and tensor_indexed.cpp.
// On the Vm's thread.

#include <memory>
#include <new>
#include <stdexcept>

#include "bindings/modules/array/tensor_api.hpp"

namespace actorhost::tensor {

using kernel::View;

inline TensorState& state_of(ah_tensor_context* context) noexcept { return *reinterpret_cast<TensorState*>(context); }

inline const kernel::Kernels& kernels_of(const ah_tensor* t) noexcept { return *state_of(t->context_).kernels; }

/// A row-major copy of the given element type, for one operation.
struct Copied {
  Blob bytes;
  View view;

  Copied(const kernel::Kernels& k, const View& source, Dtype dtype)
      : bytes(Blob::allocate(static_cast<size_t>(source.size()) * dtype_size(dtype))),
        view(kernel::row_major(bytes.data(), dtype, source.shape)) {
    kernel::copy(k, view, source);
  }
  Copied(const kernel::Kernels& k, const View& source) : Copied(k, source, source.dtype) {}
};

/// Thrown when a result would exceed the elements of a tensor (Shape::kMaxElements) or have a negative size.
struct TooManyElements {};

/// Prepares `out` for a result of this shape and type. Allocates an empty `out` (may throw TooManyElements and
/// std::bad_alloc); returns AH_TENSOR_OUT for an `out` of another shape or type.
int32_t prepare(ah_tensor_context* context, ah_tensor& out, const View& like);

/// Returns `in`, or a copy of it in `keep` if writing `out` would change unread elements of `in`.
View apart(const kernel::Kernels& k, const View& out, const View& in, std::unique_ptr<Copied>& keep);

/// Returns `in`, or a copy of it with this element type in `keep`.
View as_type(const kernel::Kernels& k, const View& in, Dtype dtype, std::unique_ptr<Copied>& keep);

/// Records that the operation does not support the element type.
int32_t wrong_kind(const ah_tensor& t) noexcept;

/// AH_TENSOR_RANGE if `to` cannot represent an element of `a`.
int32_t check_fit(const ah_tensor& a, Dtype to);

/// Runs f, which returns a status; also turns out-of-memory and too many elements into a status.
template <typename F>
int32_t guarded_status(F f) noexcept {
  try {
    return f();
  } catch (const TooManyElements&) {
    return AH_TENSOR_SIZE;
  } catch (const std::bad_alloc&) {
    return AH_TENSOR_MEMORY;
  } catch (const std::length_error&) {
    return AH_TENSOR_MEMORY;
  }
}

/// Returns from the enclosing function with the status of the expression, unless it is AH_TENSOR_OK.
#define AH_TENSOR_TRY(expression)                                                               \
  do {                                                                                          \
    if (const int32_t ah_status_ = (expression); ah_status_ != AH_TENSOR_OK) return ah_status_; \
  } while (false)

/// Each fills a part of the table, and is defined in its own file.
void add_elementwise(ah_tensor_api& api) noexcept;
void add_algebra(ah_tensor_api& api) noexcept;
void add_indexed(ah_tensor_api& api) noexcept;

}  // namespace actorhost::tensor
