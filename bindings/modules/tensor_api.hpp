#pragma once
// The functions behind ffi_tensor.h for one Lua state, and the C++ side of its structs. On the Vm's thread only.

#include <memory>

#include "bindings/modules/ffi_tensor.h"
#include "host/base/blob.hpp"
#include "host/kernel/kernels.hpp"
#include "host/kernel/optimiser.hpp"
#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost {

/// What the tensors of one state share. `context` is the first member, so a pointer to it is one to the whole.
struct TensorState {
  ah_tensor_context context{};
  const kernel::Kernels* kernels = nullptr;
  std::unique_ptr<kernel::ThreadPool> pool;
  ah_tensor_api api{};
};

/// The state with its api filled in; lives as long as any of its tensors. `threads` is what large products run on.
std::shared_ptr<TensorState> make_tensor_state(int threads);

/// The strided view of a tensor's elements.
kernel::View view_of(const ah_tensor& t) noexcept;

/// The description as the engines have it; its numbers are not checked.
kernel::OptimiserSpec spec_of(const ah_optimiser& o) noexcept;

/// The block of a tensor that is not empty.
const Blob& block_of(const ah_tensor& t) noexcept;

/// Makes the empty tensor `out` a row-major one on `bytes`, from offset 0.
void adopt(TensorState& state, ah_tensor& out, Blob bytes, const kernel::View& geometry) noexcept;

}  // namespace actorhost
