#include "bindings/vm/lua_support.hpp"

#include <cmath>

namespace actorhost {

namespace {

// Fills `frame` with the innermost Lua frame outside the standard library; false when there is none.
bool find_user_frame(lua_State* L, lua_Debug& frame) {
  for (int level = 0; lua_getstack(L, level, &frame) != 0; ++level) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline > 0 && !is_library_source(frame.source)) return true;
  }
  return false;
}

// Pushes "file:line: " of the innermost Lua frame outside the standard library, or "".
void push_user_position(lua_State* L) {
  lua_Debug frame;
  if (find_user_frame(L, frame)) {
    lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
  } else {
    luaL_where(L, 1);
  }
}

}  // namespace

bool is_library_source(const char* source) { return std::string_view(source).starts_with("@stdlib/"); }

std::string user_position(lua_State* L) {
  lua_Debug frame;
  if (!find_user_frame(L, frame)) return "?";
  return std::string(frame.short_src) + ":" + std::to_string(frame.currentline);
}

void raise_at_user(lua_State* L, std::string_view message) {
  push_user_position(L);
  lua_pushlstring(L, message.data(), message.size());
  lua_concat(L, 2);
  lua_error(L);
  __builtin_unreachable();
}

void raise_error(lua_State* L, const Error& error) {
  Vm::from(L).note_error(error);
  if (error.message.find("\nstack traceback:") == std::string::npos) raise_at_user(L, error.message);
  lua_pushlstring(L, error.message.data(), error.message.size());  // a callback's error, which is already complete
  lua_error(L);
  __builtin_unreachable();
}

void expect(lua_State* L, const Status& status) {
  if (!status) raise_error(L, status.error());
}

int push_functions(lua_State* L, std::span<const luaL_Reg> functions) {
  lua_createtable(L, 0, static_cast<int>(functions.size()));
  for (const luaL_Reg& function : functions) {
    lua_pushcfunction(L, function.func);
    lua_setfield(L, -2, function.name);
  }
  return 1;
}

int push_failure(lua_State* L, const Error& error) {
  lua_pushnil(L);
  lua_pushlstring(L, error.message.data(), error.message.size());
  lua_pushstring(L, code_name(error.code));
  return 3;
}

int push_or_raise(lua_State* L, const Error& error) {
  if (error.code == Code::peer_lost || error.code == Code::timeout) return push_failure(L, error);
  if (error.code == Code::bad_argument) raise_at_user(L, error.message);
  raise_error(L, error);
}

const char* type_of(lua_State* L, int index) { return lua_isnone(L, index) ? "nil" : luaL_typename(L, index); }

void raise_bad_argument(lua_State* L, int index, const char* name, const char* function, const char* expected) {
  raise_at_user(L, std::string("bad argument '") + name + "' to " + function + ": expected " + expected + ", got " +
                       type_of(L, index));
}

double check_number(lua_State* L, int index, const char* name, const char* function) {
  if (lua_type(L, index) != LUA_TNUMBER) raise_bad_argument(L, index, name, function, "number");
  return lua_tonumber(L, index);
}

int64_t check_integer(lua_State* L, int index, const char* name, const char* function, int64_t min, int64_t max) {
  const double value = check_number(L, index, name, function);
  if (!(value >= static_cast<double>(min) && value <= static_cast<double>(max)) || value != std::floor(value)) {
    lua_pushfstring(L, "bad argument '%s' to %s: expected an integer from %f to %f, got %f", name, function,
                    static_cast<double>(min), static_cast<double>(max), value);
    raise_at_user(L, lua_tostring(L, -1));
  }
  return static_cast<int64_t>(value);
}

bool check_boolean(lua_State* L, int index, const char* name, const char* function) {
  if (lua_type(L, index) != LUA_TBOOLEAN) raise_bad_argument(L, index, name, function, "boolean");
  return lua_toboolean(L, index) != 0;
}

void check_table(lua_State* L, int index, const char* name, const char* function) {
  if (lua_type(L, index) != LUA_TTABLE) raise_bad_argument(L, index, name, function, "table");
}

void check_function(lua_State* L, int index, const char* name, const char* function) {
  if (lua_type(L, index) != LUA_TFUNCTION) raise_bad_argument(L, index, name, function, "function");
}

std::string_view check_text(lua_State* L, int index, const char* name, const char* function) {
  if (lua_type(L, index) != LUA_TSTRING) raise_bad_argument(L, index, name, function, "string");
  size_t size = 0;
  const char* text = lua_tolstring(L, index, &size);
  return {text, size};
}

std::vector<std::string> check_texts(lua_State* L, int index, const char* name, const char* function) {
  check_table(L, index, name, function);
  std::vector<std::string> texts;
  each_item(L, index, [&](int /*i*/) { texts.emplace_back(check_text(L, -1, name, function)); });
  return texts;
}

double number_field(lua_State* L, int index, const char* name, double otherwise) {
  lua_getfield(L, index, name);
  const double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
  lua_pop(L, 1);
  return value;
}

bool boolean_field(lua_State* L, int index, const char* name) {
  lua_getfield(L, index, name);
  const bool value = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return value;
}

std::string text_field(lua_State* L, int index, const char* name) {
  lua_getfield(L, index, name);
  size_t size = 0;
  const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : "";
  std::string value(text, size);
  lua_pop(L, 1);
  return value;
}

}  // namespace actorhost
