#include <string>

#include <lua.hpp>

#include "bindings/vm/lua_sandbox.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

namespace {

constexpr int kRequireUpvalue = 2;
constexpr int kShowUpvalue = 3;

/// Whether print shows the contents of the value: of a table without a metatable.
bool is_plain_table(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE) return false;
  if (lua_getmetatable(L, index) == 0) return true;
  lua_pop(L, 1);
  return false;
}

/// Pushes the function for plain tables, `printed` of actor.console.format; tostring in a state without this module.
void push_table_text(lua_State* L) {
  if (lua_isnil(L, lua_upvalueindex(kShowUpvalue))) {
    lua_pushvalue(L, lua_upvalueindex(kRequireUpvalue));
    lua_pushliteral(L, "actor.console.format");
    if (lua_pcall(L, 1, 1, 0) == 0) {
      lua_getfield(L, -1, "printed");
    } else {
      lua_pushvalue(L, lua_upvalueindex(1));
    }
    lua_replace(L, lua_upvalueindex(kShowUpvalue));
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(kShowUpvalue));
}

// print; upvalue 1: tostring, upvalue 2: require, upvalue 3: the text of tables, nil before the first table.
int print_values(lua_State* L) {
  std::string line;
  const int count = lua_gettop(L);
  for (int i = 1; i <= count; ++i) {
    if (i > 1) line += '\t';
    const int type = lua_type(L, i);
    size_t size = 0;
    if (type == LUA_TSTRING) {
      const char* text = lua_tolstring(L, i, &size);
      line.append(text, size);
      continue;
    }
    if (is_plain_table(L, i)) {
      push_table_text(L);
    } else {
      lua_pushvalue(L, lua_upvalueindex(1));
    }
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    const char* text = lua_tolstring(L, -1, &size);
    if (text == nullptr) return luaL_error(L, "'tostring' must return a string to 'print'");
    line.append(text, size);
    lua_pop(L, 1);
  }
  line += '\n';
  Vm::from(L).write(line);
  return 0;
}

// file:write(...) of all files; upvalue 1: the built-in function, upvalue 2: io.stdout, upvalue 3: io.stderr.
int file_write(lua_State* L) {
  const bool error = lua_rawequal(L, 1, lua_upvalueindex(3)) != 0;
  if (!error && lua_rawequal(L, 1, lua_upvalueindex(2)) == 0) {
    const int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, LUA_MULTRET);
    return lua_gettop(L);
  }
  std::string text;
  for (int i = 2; i <= lua_gettop(L); ++i) {
    size_t size = 0;
    const char* part = luaL_checklstring(L, i, &size);
    text.append(part, size);
  }
  error ? Vm::from(L).write_error(text) : Vm::from(L).write(text);
  lua_settop(L, 1);
  return 1;
}

// io.write(...); upvalue 1: io.output.
int output_write(lua_State* L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "write");
  lua_insert(L, 1);
  lua_insert(L, 2);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

}  // namespace

void replace_output(lua_State* L) {
  lua_getglobal(L, "tostring");
  lua_getglobal(L, "require");
  lua_pushnil(L);
  lua_pushcclosure(L, guarded<print_values>, 3);
  lua_setglobal(L, "print");
  lua_getglobal(L, "io");
  lua_getfield(L, -1, "output");
  lua_pushcclosure(L, guarded<output_write>, 1);
  lua_setfield(L, -2, "write");
  lua_getfield(L, -1, "stdout");
  lua_getmetatable(L, -1);
  lua_getfield(L, -1, "write");
  lua_pushvalue(L, -3);
  lua_getfield(L, -5, "stderr");
  lua_pushcclosure(L, guarded<file_write>, 3);
  lua_setfield(L, -2, "write");  // the metatable is its own __index
  lua_pop(L, 3);
}

}  // namespace actorhost
