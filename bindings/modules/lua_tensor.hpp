#pragma once
// Tensors between C++ and Lua. A tensor's elements are a Blob, so both directions share memory instead of copying.
// On the Vm's thread only; the functions that take a lua_State may raise Lua errors.

#include <optional>

#include "host/base/tensor.hpp"

struct lua_State;

namespace actorhost {

class Vm;

/// Whether the value is a tensor. Exact: other cdata, pointers and references to tensors are not.
bool is_tensor(lua_State* L, int index);

/// The tensor at `index`, which has to be one. Shares its memory when it is contiguous, else copies. Lua may write into
/// shared memory later: a caller that keeps the bytes beyond the call or hands them to another thread sets `copy`.
Tensor tensor_at(lua_State* L, int index, bool copy = false);
/// The same for a value that may be no tensor.
std::optional<Tensor> find_tensor(lua_State* L, int index, bool copy = false);

/// Pushes a tensor on `value.data`, which it shares: the caller hands over the only right to write. Bytes whose
/// address or size doesn't suit the type are copied or refused (a Lua error).
void push_tensor(lua_State* L, Tensor value);

/// The same into the empty tensor at `index`, which the standard library has just made: quicker than making one from
/// here.
void fill_tensor(lua_State* L, int index, Tensor value);

/// Registers the FFI table "tensor" and the module "actor.c.tensor". Called by open_standard_modules.
void open_tensor(Vm& vm);
/// The FFI table "nn": the passes of layers.
void open_nn(Vm& vm);

}  // namespace actorhost
