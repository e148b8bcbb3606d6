#pragma once
// Passes tensors between C++ and Lua. A tensor's elements are a Blob, so both directions share memory instead of
// copying. On the Vm's thread; functions with a lua_State may raise Lua errors.

#include <optional>

#include "host/base/tensor.hpp"

struct lua_State;

namespace actorhost {

class Vm;

/// Whether the value is a tensor; false for other cdata, and for pointers and references to tensors.
bool is_tensor(lua_State* L, int index);

/// The tensor at `index`, which must be a tensor. Shares its memory if it is contiguous, otherwise copies. Lua may
/// write into shared memory later: set `copy` to use the bytes after the call or on another thread.
Tensor tensor_at(lua_State* L, int index, bool copy = false);
/// The same, or no value if the value is no tensor.
std::optional<Tensor> find_tensor(lua_State* L, int index, bool copy = false);

/// Pushes a tensor that shares `value.data`: the caller gives up its right to write. Copies bytes with an unsuitable
/// address, and raises a Lua error for an unsuitable size.
void push_tensor(lua_State* L, Tensor value);

/// The same into the empty tensor at `index`, which the standard library has just made: faster than making it here.
void fill_tensor(lua_State* L, int index, Tensor value);

/// Registers the FFI table "tensor" and the module "actor.c.tensor". Called by open_standard_modules.
void open_tensor(Vm& vm);
/// The FFI table "nn": the passes of layers.
void open_nn(Vm& vm);

}  // namespace actorhost
