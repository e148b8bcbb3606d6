#include "bindings/modules/array/lua_tensor.hpp"

#include <cassert>
#include <string>

#include "bindings/modules/array/tensor_api.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

using kernel::View;

namespace {

// Registry keys, by address: of the state, and of the two functions that stdlib/actor/tensor passes to `bind`.
const char kTensorState = 0;
const char kIsTensor = 0;
const char kAdopt = 0;

TensorState& tensor_state(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kTensorState));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto* state = static_cast<TensorState*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *state;
}

// Pushes one of the module's functions; loads the module on first use.
void push_function(lua_State* L, const char& key) {
  lua_pushlightuserdata(L, const_cast<char*>(&key));
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "actor.tensor");
  lua_call(L, 1, 0);
  lua_pushlightuserdata(L, const_cast<char*>(&key));
  lua_rawget(L, LUA_REGISTRYINDEX);
}

// bind(is_tensor, adopt), called once by stdlib/actor/tensor/base.lua. is_tensor(value) -> boolean; adopt(pointer) ->
// tensor that takes over the block of the ah_tensor at the pointer.
int bind(lua_State* L) {
  check_function(L, 1, "is_tensor", "bind");
  check_function(L, 2, "adopt", "bind");
  lua_settop(L, 2);
  lua_pushlightuserdata(L, const_cast<char*>(&kAdopt));
  lua_insert(L, 2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(L, const_cast<char*>(&kIsTensor));
  lua_insert(L, 1);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return 0;
}

int tensor_module(lua_State* L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, bind);
  lua_setfield(L, -2, "bind");
  return 1;
}

// Raises when the number of bytes does not match the shape.
void check_bytes(lua_State* L, const Tensor& value) {
  if (value.bytes() == value.data.size()) return;
  raise_at_user(L, "a tensor of " + std::to_string(value.data.size()) + " bytes does not have the shape it claims");
}

void adopt_value(lua_State* L, ah_tensor& out, Tensor value) {
  if (reinterpret_cast<uintptr_t>(value.data.data()) % dtype_size(value.dtype) != 0) {
    value.data = Blob::copy_of(value.data.view());
  }
  const View geometry = kernel::row_major(value.data.data(), value.dtype, value.shape);
  adopt(tensor_state(L), out, std::move(value.data), geometry);
}

}  // namespace

bool is_tensor(lua_State* L, int index) {
  if (lua_type(L, index) != kLuaCdata) return false;
  lua_pushvalue(L, index);
  push_function(L, kIsTensor);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  const bool is = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return is;
}

Tensor tensor_at(lua_State* L, int index, bool copy) {
  auto value = find_tensor(L, index, copy);
  if (!value) raise_bad_argument(L, index, "tensor", "tensor_at", "tensor");
  return std::move(*value);
}

std::optional<Tensor> find_tensor(lua_State* L, int index, bool copy) {
  if (!is_tensor(L, index)) return std::nullopt;
  const ah_tensor& t = *static_cast<const ah_tensor*>(lua_topointer(L, index));
  const View view = view_of(t);
  Tensor value;
  value.dtype = view.dtype;
  value.shape = view.shape;
  const size_t size = value.bytes();
  if (size == 0) return value;
  if (!copy && view.contiguous()) {
    const Blob& block = block_of(t);
    value.data = block.slice(static_cast<size_t>(static_cast<std::byte*>(view.data) - block.data()), size);
    return value;
  }
  value.data = Blob::allocate(size);
  const View packed = kernel::row_major(value.data.data(), view.dtype, view.shape);
  kernel::copy(*tensor_state(L).kernels, packed, view);
  return value;
}

void push_tensor(lua_State* L, Tensor value) {
  check_bytes(L, value);
  push_function(L, kAdopt);
  ah_tensor made{};
  adopt_value(L, made, std::move(value));
  lua_pushlightuserdata(L, &made);  // becomes cdata at once
  const int status = lua_pcall(L, 1, 1, 0);
  if (made.context_ != nullptr) tensor_state(L).api.release(&made);
  if (status != 0) lua_error(L);
}

void fill_tensor(lua_State* L, int index, Tensor value) {
  check_bytes(L, value);
  assert(lua_type(L, index) == kLuaCdata);
  auto& tensor = *static_cast<ah_tensor*>(const_cast<void*>(lua_topointer(L, index)));
  assert(tensor.context_ == nullptr);
  adopt_value(L, tensor, std::move(value));
}

void open_tensor(Vm& vm) {
  lua_State* L = vm.state();
  auto state = make_tensor_state(vm.config().kernel_threads);
  vm.register_ffi("tensor", &state->api);
  vm.register_ffi("linalg", &kLinalgApi);
  vm.register_module("actor.c.tensor", tensor_module);
  lua_pushlightuserdata(L, const_cast<char*>(&kTensorState));
  lua_pushlightuserdata(L, state.get());
  lua_rawset(L, LUA_REGISTRYINDEX);
  vm.own(std::move(state));
}

}  // namespace actorhost
