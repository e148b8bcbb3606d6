#pragma once
// The functions behind ffi_tensor.h, for one Lua state and on the Vm's thread; the functions behind ffi_linalg.h, which
// have no state; and the C++ side of their structs.

#include <memory>

#include "bindings/modules/array/ffi_linalg.h"
#include "bindings/modules/array/ffi_tensor.h"
#include "host/base/blob.hpp"
#include "host/kernel/kernels.hpp"
#include "host/kernel/optimiser.hpp"
#include "host/kernel/pool.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost {

/// Shared by the tensors of one state. `context` is the first member, so a pointer to it is a pointer to the
/// TensorState.
struct TensorState {
  ah_tensor_context context{};
  const kernel::Kernels* kernels = nullptr;
  std::unique_ptr<kernel::ThreadPool> pool;
  ah_tensor_api api{};
};

/// The state with its api filled in; must outlive its tensors. Large products run on `threads` threads.
std::shared_ptr<TensorState> make_tensor_state(int threads);

/// The functions behind ffi_linalg.h. Stateless; on any Vm's thread.
extern const ah_linalg_api kLinalgApi;

/// The strided view of a tensor's elements.
kernel::View view_of(const ah_tensor& t) noexcept;

/// The optimiser's description for the engines; does not check the numbers.
kernel::OptimiserSpec spec_of(const ah_optimiser& o) noexcept;

/// The block of a non-empty tensor.
const Blob& block_of(const ah_tensor& t) noexcept;

/// Makes the empty tensor `out` a row-major tensor on `bytes`, from offset 0.
void adopt(TensorState& state, ah_tensor& out, Blob bytes, const kernel::View& geometry) noexcept;

}  // namespace actorhost
