#include "bindings/modules/engine/param_values.hpp"

#include <algorithm>

#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

Error wrong(const std::string& what, const std::string& why) { return {Code::bad_argument, what + ": " + why}; }

int absolute(lua_State* L, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
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

Result<ParamValue> param_value_at(lua_State* L, int index, TensorCopies* copies, ParamUse use,
                                  const std::string& what) {
  AH_LET(auto value, carried_value_at(L, index, copies, what));
  if (auto* tensor = std::get_if<Tensor>(&value)) {
    if (use != ParamUse::saved && !is_floating(tensor->dtype)) {
      return wrong(what, std::string("expected a tensor of float32 or float64, which updates are computed with, got ") +
                             dtype_name(tensor->dtype) + "; convert it with t:to('float32')");
    }
    return ParamValue(ParamTensor::whole(*tensor, std::move(tensor->data)));
  }
  if (auto* lua = std::get_if<LuaValue>(&value)) return ParamValue(std::move(*lua));
  return ParamValue();
}

CarriedValue carried(ParamValue value) {
  if (auto* tensor = std::get_if<ParamTensor>(&value)) return Tensor{*tensor, std::move(tensor->data)};
  if (auto* lua = std::get_if<LuaValue>(&value)) return std::move(*lua);
  return {};
}

Status push_param_value(lua_State* L, ParamValue value, bool shared) {
  return push_carried(L, carried(std::move(value)), shared);
}

Result<std::vector<ParamEntry>> param_entries_at(lua_State* L, int index, TensorCopies* copies, ParamUse use,
                                                 const std::string& what) {
  if (!lua_istable(L, index)) {
    const char* hint = lua_isnil(L, index) ? " (is a 'return' missing?)" : "";
    return wrong(what, std::string("expected {{key, value}, ...}, got ") + type_of(L, index) + hint);
  }
  const int list = absolute(L, index);
  const int count = static_cast<int>(lua_objlen(L, list));
  if (count == 0) {
    lua_pushnil(L);
    if (lua_next(L, list) != 0) {
      const std::string key =
          lua_type(L, -2) == LUA_TSTRING ? std::string(" {") + lua_tostring(L, -2) + " = ...}" : " without an entry 1";
      lua_pop(L, 2);
      return wrong(what, "expected {{key, value}, ...}, got a table" + key);
    }
  }
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
    if (lua_isnil(L, -1) && use == ParamUse::task) {
      entry.value = ParamFetch{};
    } else {
      auto value = param_value_at(L, -1, copies, use, name + " (" + entry.key.print() + ")");
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

void push_summary(lua_State* L, const ParamSummary& summary) {
  lua_createtable(L, 0, 9);
  set_field(L, "steps", summary.steps);
  set_field(L, "updates", summary.updates);
  set_field(L, "seconds", summary.seconds);
  set_field(L, "dropped", summary.dropped);
  set_field(L, "lost", summary.lost);
  set_field(L, "non_finite", summary.non_finite);
  set_field(L, "in_flight", summary.in_flight);
  set_field(L, "reason", summary.reason);
  if (!summary.traffic) return;
  lua_createtable(L, 0, 2);
  const auto bytes = [&](const char* name, const FilterBytes& counted) {
    lua_createtable(L, 0, 3);
    set_field(L, "before", counted.before);
    set_field(L, "after", counted.after);
    set_field(L, "ratio", ratio_of(counted));
    lua_setfield(L, -2, name);
  };
  bytes("push", summary.traffic->pushed);
  bytes("pull", summary.traffic->pulled);
  lua_setfield(L, -2, "filter");
}

void push_entry(lua_State* L, const ParamKey& key, ParamValue value, int extra, bool shared) {
  lua_createtable(L, 2 + extra, 0);
  push_param_key(L, key);
  lua_rawseti(L, -2, 1);
  expect(L, push_param_value(L, std::move(value), shared));
  lua_rawseti(L, -2, 2);
}

void push_entries(lua_State* L, std::vector<ParamEntry> entries, bool shared) {
  push_list(L, entries, [&](ParamEntry& entry) { push_entry(L, entry.key, std::move(entry.value), 0, shared); });
}

std::vector<ParamKey> param_keys_at(lua_State* L, int index, const std::string& where) {
  std::vector<ParamKey> keys;
  each_item(L, index,
            [&](int i) { keys.push_back(take(L, param_key_at(L, -1, where + ": key " + std::to_string(i)))); });
  return keys;
}

void push_pull_batch(lua_State* L, std::vector<PullEntry>& entries, bool shared) {
  uint64_t newest = 0;
  push_list(L, entries, [&](PullEntry& entry) {
    newest = std::max(newest, entry.step);
    push_entry(L, entry.key, std::move(entry.value), 2, shared);
    lua_pushnumber(L, static_cast<lua_Number>(entry.step));
    lua_rawseti(L, -2, 3);
    lua_pushnumber(L, static_cast<lua_Number>(entry.worker));
    lua_rawseti(L, -2, 4);
    if (entry.weight != 1) set_field(L, "weight", entry.weight);
  });
  lua_pushnumber(L, static_cast<lua_Number>(newest));
}

void push_values(lua_State* L, std::vector<ParamEntry> entries) {
  lua_createtable(L, static_cast<int>(entries.size()), 0);
  lua_createtable(L, static_cast<int>(entries.size()), 0);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (std::holds_alternative<std::monostate>(entries[i].value)) continue;
    lua_pushnumber(L, static_cast<lua_Number>(entries[i].step));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
    expect(L, push_param_value(L, std::move(entries[i].value)));
    lua_rawseti(L, -3, static_cast<int>(i) + 1);
  }
}

void expect_right(lua_State* L, const Status& status) {
  if (!status && status.error().code == Code::bad_argument) raise_at_user(L, status.error().message);
  expect(L, status);
}

}  // namespace actorhost
