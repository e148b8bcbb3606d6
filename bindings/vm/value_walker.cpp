#include "bindings/vm/value_walker.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

constexpr int kStackPerTable = 8;  // Lua stack slots for a nested table and its calls

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 64 || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::string key_text(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TSTRING: {
      size_t size = 0;
      const char* text = lua_tolstring(L, index, &size);
      const std::string key(text, std::min<size_t>(size, 64));
      return is_identifier(key) && key.size() == size ? "." + key
                                                      : "[\"" + key + (key.size() < size ? "...\"]" : "\"]");
    }
    case LUA_TNUMBER: {
      char text[40];
      std::snprintf(text, sizeof text, "[%.14g]", lua_tonumber(L, index));
      return text;
    }
    case LUA_TBOOLEAN: return lua_toboolean(L, index) != 0 ? "[true]" : "[false]";
    default: return std::string("[") + luaL_typename(L, index) + "]";
  }
}

}  // namespace

ValueKind ValueWalker::kind_of_top() {
  const int type = lua_type(L_, -1);
  switch (type) {
    case LUA_TNIL: return ValueKind::nil;
    case LUA_TBOOLEAN: return ValueKind::boolean;
    case LUA_TNUMBER: return ValueKind::number;
    case LUA_TSTRING: return ValueKind::string;
    case LUA_TTABLE:
      if (lua_getmetatable(L_, -1) == 0) return ValueKind::table;
      lua_pop(L_, 1);
      return kind_of_special(type);
    default: return kind_of_special(type);
  }
}

bool ValueWalker::is_type(int type_ref) {
  lua_rawgeti(L_, LUA_REGISTRYINDEX, state_.is_type);
  lua_rawgeti(L_, LUA_REGISTRYINDEX, type_ref);
  lua_pushvalue(L_, -3);
  const bool is = lua_pcall(L_, 2, 1, 0) == 0 && lua_toboolean(L_, -1) != 0;
  lua_pop(L_, 1);
  return is;
}

ValueKind ValueWalker::kind_of_special(int type) {
  constexpr int kCdata = LUA_TTHREAD + 2;  // LuaJIT's type of cdata, which lua.h does not define
  if (type == kCdata) {
    if (is_type(state_.int64_type)) return ValueKind::int64;
    if (is_type(state_.uint64_type)) return ValueKind::uint64;
  }
  if (state_.is_tensor != LUA_NOREF && (type == kCdata || type == LUA_TTABLE || type == LUA_TUSERDATA)) {
    lua_pushvalue(L_, -1);
    if (!call_hook(state_.is_tensor, "is")) return ValueKind::refused;
    const bool is = lua_toboolean(L_, -1) != 0;
    lua_pop(L_, 1);
    if (is) return ValueKind::tensor;
  }
  if (type == LUA_TTABLE) {
    refuse("has a metatable");
  } else if (type == kCdata) {
    refuse("is cdata of a foreign type");
  } else {
    refuse(std::string("is a ") + luaL_typename(L_, -1));
  }
  return ValueKind::refused;
}

bool ValueWalker::call_hook(int function, const char* what) {
  lua_rawgeti(L_, LUA_REGISTRYINDEX, function);
  lua_insert(L_, -2);
  if (lua_pcall(L_, 1, 1, 0) == 0) return true;
  const char* text = lua_tostring(L_, -1);
  refuse(std::string("makes the tensor module's '") + what + "' fail: " + (text != nullptr ? text : "?"));
  lua_pop(L_, 1);
  return false;
}

bool ValueWalker::enter_table() {
  const void* table = lua_topointer(L_, -1);
  const auto seen = std::find(ancestors_.begin(), ancestors_.end(), table);
  if (seen != ancestors_.end()) {
    cycle_to_ = static_cast<int>(seen - ancestors_.begin());
    return refuse("");
  }
  if (ancestors_.size() >= limits_.depth) {
    return refuse("is nested too deeply (more than " + std::to_string(limits_.depth) + " tables)");
  }
  if (lua_checkstack(L_, kStackPerTable) == 0) return refuse("is nested too deeply for the Lua stack");
  if (!count_slot()) return false;
  ancestors_.push_back(table);
  return true;
}

bool ValueWalker::count_slot() {
  if (slots_ == 0) {
    return refuse("is too large: more than " + std::to_string(limits_.slots) + " tables, items and pairs");
  }
  --slots_;
  return true;
}

bool ValueWalker::collect_keys(std::vector<Key>& keys) {
  const int at = lua_gettop(L_);
  lua_pushnil(L_);
  while (lua_next(L_, at) != 0) {
    if (!count_slot()) return false;
    switch (lua_type(L_, -2)) {
      case LUA_TNUMBER: keys.push_back({0, lua_tonumber(L_, -2), {}}); break;
      case LUA_TSTRING: {
        size_t size = 0;
        const char* text = lua_tolstring(L_, -2, &size);
        keys.push_back({1, 0, {text, size}});
        break;
      }
      case LUA_TBOOLEAN: keys.push_back({2, static_cast<double>(lua_toboolean(L_, -2)), {}}); break;
      default: return refuse_key(-2);
    }
    lua_pop(L_, 1);
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  return true;
}

void ValueWalker::push_pair(const Key& key, int table) {
  if (key.order == 0) {
    lua_pushnumber(L_, key.number);
  } else if (key.order == 1) {
    lua_pushlstring(L_, key.text.data(), key.text.size());
  } else {
    lua_pushboolean(L_, key.number != 0 ? 1 : 0);
  }
  lua_pushvalue(L_, -1);
  lua_rawget(L_, table);
}

bool ValueWalker::failed_below(int index) {
  pieces_.push_back(key_text(L_, index));
  return false;
}

bool ValueWalker::refuse_key(int index) {
  const int type = lua_type(L_, index);
  return refuse(std::string("has a ") + lua_typename(L_, type) +
                " as a key (numbers, strings and booleans may be keys)");
}

std::string ValueWalker::path(size_t pieces) const {
  std::string text = name_;
  for (size_t i = 0; i < pieces && i < pieces_.size(); ++i) text += pieces_[pieces_.size() - 1 - i];
  return text;
}

Error ValueWalker::error() const {
  std::string text = path(pieces_.size()) + " ";
  text += cycle_to_ < 0 ? reason_ : "is " + path(static_cast<size_t>(cycle_to_)) + " again: a cycle";
  return {Code::bad_argument, std::move(text)};
}

}  // namespace actorhost
