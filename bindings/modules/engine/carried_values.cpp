#include "bindings/modules/engine/carried_values.hpp"

#include <algorithm>
#include <utility>

#include <lua.hpp>

#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/copy.hpp"

namespace actorhost {

namespace {

Error malformed_rows() { return {Code::bad_data, "the received values are not tensors with rows of the same layout"}; }

Tensor carried_tensor_at(lua_State* L, int index, TensorCopies* copies) {
  if (copies == nullptr) return tensor_at(L, index);
  const auto [at, missing] = copies->try_emplace(lua_topointer(L, index));
  if (missing) at->second = tensor_at(L, index, true);
  return at->second;
}

void push_whole(lua_State* L, Tensor tensor, bool shared) {
  if (!shared && !tensor.data.empty() && !tensor.data.unique()) {
    tensor.data = Blob::copy_of(tensor.data.data(), tensor.data.size());
  }
  push_tensor(L, std::move(tensor));
}

bool same_rows(const Shape& a, const Shape& b) {
  return a.rank == b.rank && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

/// Joins the bytes of all parts and clears `parts`.
Blob join(std::vector<Tensor>& parts) {
  Blob whole;
  size_t total = 0;
  bool contiguous = true;
  for (Tensor& part : parts) {
    total += part.data.size();
    if (part.data.empty()) continue;
    if (whole.empty()) {
      whole = part.data;
    } else {
      contiguous = contiguous && whole.extend(part.data);
    }
  }
  if (!contiguous) {
    whole = Blob::allocate(total);
    std::byte* to = whole.data();
    for (const Tensor& part : parts) {
      copy_bytes(to, part.data.data(), part.data.size(), total);
      to += part.data.size();
    }
  }
  parts.clear();  // leaves the block with one holder
  return whole;
}

}  // namespace

Result<CarriedValue> carried_value_at(lua_State* L, int index, TensorCopies* copies, const std::string& what) {
  if (lua_isnoneornil(L, index)) return CarriedValue();
  if (is_tensor(L, index)) return CarriedValue(carried_tensor_at(L, index, copies));
  auto encoded = encode_value(L, index, "value");
  if (!encoded) return Error{Code::bad_argument, what + ": " + encoded.error().message};
  LuaValue out{Blob::copy_of(encoded->bytes), {}};
  for (uint32_t i = 1; i <= encoded->tensors; ++i) {  // an `encode` hook may have put nil in the array
    lua_rawgeti(L, -1, static_cast<int>(i));
    out.tensors.push_back(carried_tensor_at(L, -1, copies));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return CarriedValue(std::move(out));
}

Status push_carried(lua_State* L, CarriedValue value, bool shared) {
  if (auto* tensor = std::get_if<Tensor>(&value)) {
    push_whole(L, std::move(*tensor), shared);
    return {};
  }
  auto* lua = std::get_if<LuaValue>(&value);
  if (lua == nullptr) {
    lua_pushnil(L);
    return {};
  }
  if (lua->tensors.empty()) return decode_value(L, lua->encoded.view());
  push_list(L, lua->tensors, [&](Tensor& tensor) { push_whole(L, std::move(tensor), shared); });
  const int tensors = lua_gettop(L);
  auto decoded = decode_value(L, lua->encoded.view(), tensors);
  lua_remove(L, tensors);
  return decoded;
}

Result<PackedValue> pack_value_at(lua_State* L, int index, const std::string& what, bool share) {
  if (!share && is_tensor(L, index)) return pack_value(tensor_at(L, index, true));
  AH_LET(auto value, carried_value_at(L, index, nullptr, what));
  return pack_value(std::move(value));
}

Status push_packed(lua_State* L, PackedValue value) {
  if (const std::string_view small = small_encoding(value); !small.empty()) return decode_value(L, small);
  AH_LET(auto carried, unpack_value(value));
  value.body = Blob();  // leaves a tensor's block with one holder
  return push_carried(L, std::move(carried));
}

Status push_rows(lua_State* L, std::vector<PackedValue> parts) {
  std::vector<Tensor> tensors;
  for (PackedValue& part : parts) {
    auto value = unpack_value(part);
    part.body = Blob();
    if (!value) return value.error();
    auto* tensor = std::get_if<Tensor>(&*value);
    if (tensor == nullptr) return malformed_rows();
    if (tensor->shape.rank == 0) tensor->shape = {1};
    const Tensor& first = tensors.empty() ? *tensor : tensors.front();
    if (tensor->dtype != first.dtype || !same_rows(tensor->shape, first.shape)) return malformed_rows();
    tensors.push_back(std::move(*tensor));
  }
  if (tensors.empty()) return malformed_rows();
  TensorLayout layout = tensors.front();
  layout.shape[0] = 0;
  for (const Tensor& tensor : tensors) layout.shape[0] += tensor.shape[0];
  if (!layout.shape.is_valid()) return malformed_rows();
  push_whole(L, {layout, join(tensors)}, false);
  return {};
}

int pack_row(lua_State* L) {
  lua_settop(L, 1);
  auto value = carried_value_at(L, 1, nullptr, "row");
  if (!value) raise_at_user(L, value.error().message);
  const std::string bytes = pack_row(pack_value(*std::move(value)));
  return push(L, bytes);
}

int unpack_row(lua_State* L) {
  auto value = unpack_row(check_text(L, 1, "bytes", "unpack"));
  if (!value) return push_failure(L, value.error());
  if (auto pushed = push_carried(L, *std::move(value)); !pushed) return push_failure(L, pushed.error());
  return 1;
}

}  // namespace actorhost
