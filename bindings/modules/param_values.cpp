#include "bindings/modules/param_values.hpp"

#include "bindings/modules/lua_tensor.hpp"
#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

Error wrong(const std::string& what, const std::string& why) { return {Code::bad_argument, what + ": " + why}; }

int absolute(lua_State* L, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}

ParamTensor to_param(TensorValue tensor) {
  ParamShape shape;
  shape.rank = static_cast<uint8_t>(tensor.shape.size());
  for (size_t i = 0; i < tensor.shape.size(); ++i) shape.dims[i] = static_cast<uint64_t>(tensor.shape[i]);
  return ParamTensor::whole(tensor.dtype, shape, std::move(tensor.bytes));
}

ParamTensor param_tensor_at(lua_State* L, int index, TensorCopies* copies) {
  if (copies == nullptr) return to_param(tensor_at(L, index));
  const auto [at, missing] = copies->try_emplace(lua_topointer(L, index));
  if (missing) at->second = to_param(tensor_at(L, index, true));
  return at->second;
}

TensorValue to_tensor(ParamTensor tensor, bool shared) {
  TensorValue out{std::move(tensor.data), tensor.type, {}};
  for (size_t i = 0; i < tensor.shape.rank; ++i) out.shape.push_back(static_cast<int64_t>(tensor.shape.dims[i]));
  if (!shared && !out.bytes.empty() && !out.bytes.unique())
    out.bytes = Blob::copy_of(out.bytes.data(), out.bytes.size());
  return out;
}

}  // namespace

Result<ParamKey> param_key_at(lua_State* L, int index, const std::string& what) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    auto key = ParamKey::of(lua_tonumber(L, index));
    if (!key) return wrong(what, key.error().message);
    return key;
  }
  if (lua_type(L, index) != LUA_TSTRING)
    return wrong(what, std::string("expected a string or number, got ") + type_of(L, index));
  size_t size = 0;
  const char* bytes = lua_tolstring(L, index, &size);
  auto key = ParamKey::of(std::string_view(bytes, size));
  if (!key) return wrong(what, key.error().message);
  return key;
}

void push_param_key(lua_State* L, const ParamKey& key) {
  if (key.is_number()) {
    lua_pushnumber(L, key.number());
  } else {
    lua_pushlstring(L, key.text().data(), key.text().size());
  }
}

Result<ParamValue> param_value_at(lua_State* L, int index, TensorCopies* copies, const std::string& what) {
  if (lua_isnoneornil(L, index)) return ParamValue();
  if (is_tensor(L, index)) return ParamValue(param_tensor_at(L, index, copies));
  auto encoded = encode_value(L, index, "value");
  if (!encoded) return wrong(what, encoded.error().message);
  ParamLua out{Blob::copy_of(encoded->bytes), {}};
  for (uint32_t i = 1; i <= encoded->tensors; ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i));
    out.tensors.push_back(param_tensor_at(L, -1, copies));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return ParamValue(std::move(out));
}

Status push_param_value(lua_State* L, ParamValue value, bool shared) {
  if (auto* tensor = std::get_if<ParamTensor>(&value)) {
    push_tensor(L, to_tensor(std::move(*tensor), shared));
    return {};
  }
  auto* lua = std::get_if<ParamLua>(&value);
  if (lua == nullptr) {
    lua_pushnil(L);
    return {};
  }
  lua_createtable(L, static_cast<int>(lua->tensors.size()), 0);
  for (size_t i = 0; i < lua->tensors.size(); ++i) {
    push_tensor(L, to_tensor(std::move(lua->tensors[i]), shared));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  const int tensors = lua_gettop(L);
  auto decoded = decode_value(L, lua->encoded.view(), tensors);
  lua_remove(L, tensors);
  return decoded;
}

Result<std::vector<ParamEntry>> param_entries_at(lua_State* L, int index, TensorCopies* copies, bool fetches,
                                                 const std::string& what) {
  if (!lua_istable(L, index)) {
    const char* hint = lua_isnil(L, index) ? " (is a 'return' missing?)" : "";
    return wrong(what, std::string("expected {{key, value}, ...}, got ") + type_of(L, index) + hint);
  }
  const int list = absolute(L, index);
  const int count = static_cast<int>(lua_objlen(L, list));
  std::vector<ParamEntry> out;
  out.reserve(static_cast<size_t>(count));
  for (int i = 1; i <= count; ++i) {
    const std::string name = what + ": entry " + std::to_string(i);
    lua_rawgeti(L, list, i);
    if (!lua_istable(L, -1)) {
      Error error = wrong(name, std::string("expected {key, value}, got ") + type_of(L, -1));
      lua_pop(L, 1);
      return error;
    }
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    auto key = param_key_at(L, -2, name + ", key");
    if (!key) {
      lua_pop(L, 3);
      return key.error();
    }
    ParamEntry entry{std::move(*key), {}, 0};
    if (lua_isnil(L, -1) && fetches) {
      entry.value = ParamFetch{};
    } else {
      auto value = param_value_at(L, -1, copies, name + " (" + entry.key.print() + ")");
      if (!value) {
        lua_pop(L, 3);
        return value.error();
      }
      entry.value = std::move(*value);
    }
    lua_pop(L, 3);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace actorhost
