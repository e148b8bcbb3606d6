#include "bindings/vm/lua_names.hpp"

#include <vector>

#include "bindings/vm/lua_support.hpp"
#include "host/base/nearest.hpp"

namespace actorhost {

namespace {

std::string_view text_at(lua_State* L, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return {text, size};
}

// Whether a script reads the name. The library itself and C functions may read unknown names.
bool read_by_script(lua_State* L) {
  lua_Debug frame;
  if (lua_getstack(L, 1, &frame) == 0) return false;
  lua_getinfo(L, "Sl", &frame);
  return frame.currentline > 0 && !is_library_source(frame.source);
}

// __index of strict tables; upvalue 1: the names' prefix ("collective."), upvalue 2: set of names that may be nil.
int missing_name(lua_State* L) {
  if (lua_type(L, 2) != LUA_TSTRING || !read_by_script(L)) return 0;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 0;
  raise_no_such_name(L, text_at(L, lua_upvalueindex(1)), text_at(L, 2), 1);
}

// Pops the set of names that may be nil.
void push_missing_name(lua_State* L, std::string_view owner) {
  lua_pushlstring(L, owner.data(), owner.size());
  lua_insert(L, -2);
  lua_pushcclosure(L, guarded<missing_name>, 2);
}

int strict(lua_State* L) {
  const std::string owner(check_text(L, 1, "owner", "strict"));
  const int count = lua_gettop(L);
  lua_newtable(L);
  for (int i = 2; i <= count; ++i) {
    lua_pushvalue(L, i);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  push_missing_name(L, owner);
  lua_createtable(L, 0, 1);
  lua_insert(L, -2);
  lua_setfield(L, -2, "__index");
  return 1;
}

int suggestion_text(lua_State* L) {
  lua_settop(L, 4);
  check_table(L, 2, "names", "suggestion");
  const auto optional = [L](int index) { return lua_isnil(L, index) ? std::string_view() : text_at(L, index); };
  const std::string text = name_suggestion(L, check_text(L, 1, "word", "suggestion"), 2, optional(3), optional(4));
  return push(L, text);
}

int unknown(lua_State* L) {
  check_table(L, 3, "names", "unknown");
  raise_no_such_name(L, check_text(L, 1, "owner", "unknown"), check_text(L, 2, "key", "unknown"), 3);
}

// The loader for `require`; upvalue 1: the chunk. The prefix of "actor.collective" is "collective.".
int load_strict(lua_State* L) {
  const std::string name(check_text(L, 1, "name", "require"));
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  if (lua_istable(L, 1)) {
    if (lua_getmetatable(L, 1) == 0) lua_newtable(L);
    lua_getfield(L, 2, "__index");
    if (lua_isnil(L, 3)) {
      lua_newtable(L);
      push_missing_name(L, name.substr(name.find('.') + 1) + ".");
      lua_setfield(L, 2, "__index");
      lua_settop(L, 2);
      lua_setmetatable(L, 1);
    }
  }
  lua_settop(L, 1);
  return 1;
}

}  // namespace

std::string name_suggestion(lua_State* L, std::string_view word, int names, std::string_view before,
                            std::string_view behind) {
  std::vector<std::string> words;
  lua_pushvalue(L, names);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    const int at = lua_type(L, -2) == LUA_TSTRING ? -2 : -1;
    if (lua_type(L, at) == LUA_TSTRING) words.emplace_back(text_at(L, at));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return suggestion(word, words, before, behind);
}

void raise_no_such_name(lua_State* L, std::string_view owner, std::string_view key, int names) {
  raise_at_user(L, "there is no " + std::string(owner) + std::string(key) + name_suggestion(L, key, names, owner));
}

int open_names(lua_State* L) {
  static const luaL_Reg kFunctions[] = {
      {"suggestion", guarded<suggestion_text>},
      {"unknown", guarded<unknown>},
      {"strict", guarded<strict>},
  };
  return push_functions(L, kFunctions);
}

void push_strict_loader(lua_State* L) { lua_pushcclosure(L, guarded<load_strict>, 1); }

}  // namespace actorhost
