#pragma once
// Tensors between C++ and Lua. A tensor's elements are a Blob, so both directions share memory instead of copying.
// On the Vm's thread only; the functions that take a lua_State may raise Lua errors.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/base/blob.hpp"
#include "host/kernel/kernels.hpp"

struct lua_State;

namespace actorhost {

class Vm;

/// Elements in row-major order without gaps.
struct TensorValue {
  Blob bytes;
  kernel::Dtype dtype = kernel::Dtype::f32;
  std::vector<int64_t> shape;  // at most 8 dimensions; empty: one element
};

/// Bytes that a tensor of this shape has, or nothing when a dimension is negative, there are more than 8 or the
/// product overflows: for shapes from files and from the network.
std::optional<size_t> tensor_bytes(kernel::Dtype dtype, std::span<const int64_t> shape);

/// Whether the value is a tensor. Exact: other cdata, pointers and references to tensors are not.
bool is_tensor(lua_State* L, int index);

/// The tensor at `index`, which has to be one. Shares its memory when it is contiguous, else copies. Lua may write into
/// shared memory later: a caller that keeps the bytes beyond the call or hands them to another thread sets `copy`.
TensorValue tensor_at(lua_State* L, int index, bool copy = false);
/// The same for a value that may be no tensor.
std::optional<TensorValue> find_tensor(lua_State* L, int index, bool copy = false);

/// Pushes a tensor on `value.bytes`, which it shares: the caller hands over the only right to write. Bytes whose
/// address or size doesn't suit the type are copied or refused (a Lua error).
void push_tensor(lua_State* L, TensorValue value);

/// The same into the empty tensor at `index`, which the standard library has just made: quicker than making one from
/// here.
void fill_tensor(lua_State* L, int index, TensorValue value);

/// Registers the FFI table "tensor" and the module "actor.c.tensor". Called by open_standard_modules.
void open_tensor(Vm& vm);

}  // namespace actorhost
