#include "bindings/modules/lua_tensor.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <string>

#include "bindings/modules/tensor_api.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

using kernel::Dtype;
using kernel::View;

namespace {

// Registry keys, by address: the state, and the two functions that stdlib/actor/tensor gives us.
const char kState = 0;
const char kIsTensor = 0;
const char kAdopt = 0;

TensorState& tensor_state(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kState));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto* state = static_cast<TensorState*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *state;
}

// Pushes one of the module's functions, loading the module at first use.
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

// bind(is_tensor, adopt), called once by stdlib/actor/tensor/base.lua. is_tensor(value) -> boolean;
// adopt(pointer) -> tensor, which takes over the block of the ah_tensor that the pointer leads to.
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

int open_module(lua_State* L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, bind);
  lua_setfield(L, -2, "bind");
  return 1;
}

constexpr int kCdata = 10;  // LuaJIT's own type, which lua.h does not name

// Raises where the bytes are not as many as the shape says.
void check_bytes(lua_State* L, const TensorValue& value) {
  const auto bytes = tensor_bytes(value.dtype, value.shape);
  if (bytes && *bytes == value.bytes.size()) return;
  raise_at_user(L, "a tensor of " + std::to_string(value.bytes.size()) + " bytes does not have the shape it claims");
}

void adopt(lua_State* L, ah_tensor& out, TensorValue value) {
  if (reinterpret_cast<uintptr_t>(value.bytes.data()) % dtype_size(value.dtype) != 0) {
    value.bytes = Blob::copy_of(value.bytes.view());
  }
  const View geometry =
      kernel::row_major(value.bytes.data(), value.dtype, static_cast<int>(value.shape.size()), value.shape.data());
  adopt(tensor_state(L), out, std::move(value.bytes), geometry);
}

}  // namespace

std::optional<size_t> tensor_bytes(Dtype dtype, std::span<const int64_t> shape) {
  if (shape.size() > kernel::kMaxDims) return std::nullopt;
  int64_t count = 1;
  // A 0 makes the product 0 but does not excuse the others: steps are products too.
  int64_t room = 1;
  for (int64_t n : shape) {
    if (n < 0 || __builtin_mul_overflow(count, n, &count)) return std::nullopt;
    if (__builtin_mul_overflow(room, std::max<int64_t>(n, 1), &room)) return std::nullopt;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(room, static_cast<int64_t>(dtype_size(dtype)), &bytes)) return std::nullopt;
  return static_cast<size_t>(count) * dtype_size(dtype);
}

bool is_tensor(lua_State* L, int index) {
  if (lua_type(L, index) != kCdata) return false;
  lua_pushvalue(L, index);
  push_function(L, kIsTensor);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  const bool is = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return is;
}

TensorValue tensor_at(lua_State* L, int index, bool copy) {
  auto value = find_tensor(L, index, copy);
  if (!value) raise_bad_argument(L, index, "tensor", "tensor_at", "tensor");
  return std::move(*value);
}

std::optional<TensorValue> find_tensor(lua_State* L, int index, bool copy) {
  if (!is_tensor(L, index)) return std::nullopt;
  const ah_tensor& t = *static_cast<const ah_tensor*>(lua_topointer(L, index));
  const View view = view_of(t);
  TensorValue value;
  value.dtype = view.dtype;
  value.shape.assign(view.shape.begin(), view.shape.begin() + view.ndim);
  const size_t size = static_cast<size_t>(view.size()) * dtype_size(view.dtype);
  if (size == 0) return value;
  if (!copy && view.contiguous()) {
    const Blob& block = block_of(t);
    value.bytes = block.slice(static_cast<size_t>(static_cast<std::byte*>(view.data) - block.data()), size);
    return value;
  }
  value.bytes = Blob::allocate(size);
  const View packed = kernel::row_major(value.bytes.data(), view.dtype, view.ndim, view.shape.data());
  kernel::copy(*tensor_state(L).kernels, packed, view);
  return value;
}

void push_tensor(lua_State* L, TensorValue value) {
  check_bytes(L, value);
  push_function(L, kAdopt);
  ah_tensor made{};
  adopt(L, made, std::move(value));
  lua_pushlightuserdata(L, &made);  // turned into cdata at once
  const int status = lua_pcall(L, 1, 1, 0);
  if (made.context_ != nullptr) tensor_state(L).api.release(&made);
  if (status != 0) lua_error(L);
}

void fill_tensor(lua_State* L, int index, TensorValue value) {
  check_bytes(L, value);
  assert(lua_type(L, index) == kCdata);
  auto& tensor = *static_cast<ah_tensor*>(const_cast<void*>(lua_topointer(L, index)));
  assert(tensor.context_ == nullptr);
  adopt(L, tensor, std::move(value));
}

void open_tensor(Vm& vm) {
  lua_State* L = vm.state();
  auto state = make_tensor_state(vm.config().kernel_threads);
  vm.register_ffi("tensor", &state->api);
  vm.register_module("actor.c.tensor", open_module);
  lua_pushlightuserdata(L, const_cast<char*>(&kState));
  lua_pushlightuserdata(L, state.get());
  lua_rawset(L, LUA_REGISTRYINDEX);
  vm.own(std::move(state));
}

}  // namespace actorhost
