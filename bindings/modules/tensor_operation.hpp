#pragma once
// Helpers for the operations of tensor_api.cpp, tensor_elementwise.cpp, tensor_algebra.cpp and tensor_indexed.cpp only.
// On the Vm's thread.

#include <memory>
#include <new>
#include <stdexcept>

#include "bindings/modules/tensor_api.hpp"

namespace actorhost::tensor {

using kernel::View;

inline TensorState& state_of(ah_tensor_context* context) noexcept { return *reinterpret_cast<TensorState*>(context); }

inline const kernel::Kernels& kernels_of(const ah_tensor* t) noexcept { return *state_of(t->context_).kernels; }

/// A row-major copy for the time of one operation, of this element type.
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

/// A result would have more elements than a tensor may have (Shape::kMaxElements), or a negative size.
struct TooManyElements {};

/// Makes `out` ready for a result of this shape and type, allocating it when it is empty (which throws TooManyElements
/// and std::bad_alloc); AH_TENSOR_OUT when it has another.
int32_t prepare(ah_tensor_context* context, ah_tensor& out, const View& like);

/// `in`, or a copy of it kept in `keep` where writing `out` would change what is still to be read.
View apart(const kernel::Kernels& k, const View& out, const View& in, std::unique_ptr<Copied>& keep);

/// `in`, or a copy of it of this element type.
View as_type(const kernel::Kernels& k, const View& in, Dtype dtype, std::unique_ptr<Copied>& keep);

/// Notes that the operation does not take the element type.
int32_t wrong_kind(const ah_tensor& t) noexcept;

/// AH_TENSOR_RANGE when `to` does not hold an element of `a`.
int32_t check_fit(const ah_tensor& a, Dtype to);

/// Runs f, which returns a status, and turns lack of memory and too many elements into a status.
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

/// Each fills in a part of the table, in a file of its own.
void add_elementwise(ah_tensor_api& api) noexcept;
void add_algebra(ah_tensor_api& api) noexcept;
void add_indexed(ah_tensor_api& api) noexcept;

}  // namespace actorhost::tensor
