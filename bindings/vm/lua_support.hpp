#pragma once
// Helpers for the bindings' C functions: the exception guard, argument checks, errors at the user's line, registry
// references. All run on the Vm's thread. A function that raises leaves by a Lua error, which runs C++ destructors on
// its way. Never write catch (...) around a Lua call: it would swallow the Lua error.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <lua.hpp>

#include "bindings/vm/vm.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// Raises `message` with the position of the innermost frame outside the standard library. A wrong call is thus
/// reported at the caller's line, at any depth of stdlib/.
[[noreturn]] void raise_at_user(lua_State* L, std::string_view message);

/// Whether a chunk with this name (lua_Debug::source) belongs to the standard library.
bool is_library_source(const char* source);

/// "job.lua:12": where the user's code called the standard library, or "?".
std::string user_position(lua_State* L);

/// Raises an engine's failure as raise_at_user does; if the script does not catch it, Vm::run returns the error's code.
/// Raises a callback's error, as returned by Vm::call, unchanged with its own traceback.
[[noreturn]] void raise_error(lua_State* L, const Error& error);

/// Raises the error of a failed engine call.
void expect(lua_State* L, const Status& status);

/// Returns the result of an engine call, or raises its error. A bad_argument error is the user's mistake and carries no
/// engine code.
template <typename T>
T take(lua_State* L, Result<T> result) {
  if (!result) {
    if (result.error().code == Code::bad_argument) raise_at_user(L, result.error().message);
    raise_error(L, result.error());
  }
  return std::move(*result);
}

/// Pushes nil, message, code: the form of an expected failure in Lua. Returns 3, for `return push_failure(L, error);`.
int push_failure(lua_State* L, const Error& error);
/// For calls that need other nodes. A lost peer and a timeout are expected failures; raises every other error, a bad
/// argument at the user's line.
int push_or_raise(lua_State* L, const Error& error);

/// Pushes a new table of the functions and returns 1, as a module's open function does.
int push_functions(lua_State* L, std::span<const luaL_Reg> functions);
/// The open function of a module without state.
template <const auto& kFunctions>
int open_functions(lua_State* L) {
  return push_functions(L, kFunctions);
}

/// Pushes a text, a number or a boolean and returns 1, for `return push(L, value);`.
inline int push(lua_State* L, std::string_view text) {
  lua_pushlstring(L, text.data(), text.size());
  return 1;
}
template <typename T>
requires std::is_arithmetic_v<T>
int push(lua_State* L, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    lua_pushboolean(L, value ? 1 : 0);
  } else {
    lua_pushnumber(L, static_cast<lua_Number>(value));
  }
  return 1;
}

/// Sets a field of the table on top of the stack to such a value.
template <typename T>
void set_field(lua_State* L, const char* name, const T& value) {
  push(L, value);
  lua_setfield(L, -2, name);
}

/// Pushes an array and returns 1. `push_item` pushes the element for an item; without it, items are texts or numbers.
template <typename Items, typename F>
int push_list(lua_State* L, Items&& items, F push_item) {
  lua_createtable(L, static_cast<int>(items.size()), 0);
  int i = 0;
  for (auto& item : items) {
    push_item(item);
    lua_rawseti(L, -2, ++i);
  }
  return 1;
}
template <typename Items>
int push_list(lua_State* L, const Items& items) {
  return push_list(L, items, [L](const auto& item) { push(L, item); });
}

/// Calls `read(i)` for each element of the array at `index`, with element i, from 1, on top of the stack.
template <typename F>
void each_item(lua_State* L, int index, F read) {
  const int count = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, index, i);
    read(i);
    lua_pop(L, 1);
  }
}

/// LuaJIT's type number of cdata, which lua.h does not define.
inline constexpr int kLuaCdata = 10;

/// The type as type() names it ("cdata", "userdata", ...); "nil" for an absent argument.
const char* type_of(lua_State* L, int index);

/// Raises "bad argument 'steps' to param.run: expected number, got string".
[[noreturn]] void raise_bad_argument(lua_State* L, int index, const char* name, const char* function,
                                     const char* expected);

/// Return the argument or raise as above. `name` and `function` are the names in the user's code. A number is never
/// accepted as a string nor a string as a number.
double check_number(lua_State* L, int index, const char* name, const char* function);
int64_t check_integer(lua_State* L, int index, const char* name, const char* function, int64_t min, int64_t max);
bool check_boolean(lua_State* L, int index, const char* name, const char* function);
void check_table(lua_State* L, int index, const char* name, const char* function);
void check_function(lua_State* L, int index, const char* name, const char* function);
/// The view is valid while the value is on the stack.
std::string_view check_text(lua_State* L, int index, const char* name, const char* function);
/// An array of texts.
std::vector<std::string> check_texts(lua_State* L, int index, const char* name, const char* function);

/// A field of the table at `index`, which the standard library has checked. A field of another type gives `otherwise`,
/// false or "".
double number_field(lua_State* L, int index, const char* name, double otherwise = 0);
bool boolean_field(lua_State* L, int index, const char* name);
std::string text_field(lua_State* L, int index, const char* name);

/// Wraps a C function: a std::exception becomes a Lua error with its text. Register every C function that may throw
/// (any that allocates) through this wrapper: lua_pushcfunction(L, guarded<my_function>).
template <int (*F)(lua_State*)>
int guarded(lua_State* L) {
  char text[512];
  try {
    return F(L);
  } catch (const std::exception& e) {
    std::snprintf(text, sizeof text, "%s", e.what());
  }
  return luaL_error(L, "%s", text);
}

template <typename T>
int collect_object(lua_State* L) {
  static_cast<std::unique_ptr<T>*>(lua_touserdata(L, 1))->reset();
  return 0;
}

/// Pushes a userdata of the named type that owns an object, which the collector deletes. The caller makes the object
/// afterwards, so an error in between leaks nothing.
template <typename T>
std::unique_ptr<T>& push_object(lua_State* L, const char* type, std::span<const luaL_Reg> methods = {}) {
  auto* object = new (lua_newuserdata(L, sizeof(std::unique_ptr<T>))) std::unique_ptr<T>();
  if (luaL_newmetatable(L, type) != 0) {
    lua_pushcfunction(L, collect_object<T>);
    lua_setfield(L, -2, "__gc");
    push_functions(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  return *object;
}

/// The object of such a userdata; raises for another value.
template <typename T>
std::unique_ptr<T>& object_at(lua_State* L, int index, const char* type) {
  return *static_cast<std::unique_ptr<T>*>(luaL_checkudata(L, index, type));
}

/// Stores a module's object for the Vm's lifetime and finds it by `key`.
template <typename T>
struct RegistryObject {
  T* object;

  static void store(lua_State* L, const char* key, std::shared_ptr<T> object) {
    new (lua_newuserdata(L, sizeof(RegistryObject))) RegistryObject{object.get()};
    lua_setfield(L, LUA_REGISTRYINDEX, key);
    Vm::from(L).own(std::move(object));
  }
  static T& find(lua_State* L, const char* key) {
    lua_getfield(L, LUA_REGISTRYINDEX, key);
    const auto* stored = static_cast<RegistryObject*>(lua_touserdata(L, -1));
    lua_pop(L, 1);
    return *stored->object;
  }
};

/// A value stored in the registry; move-only. Destroy or reset it before the state is closed.
class LuaRef {
 public:
  LuaRef() = default;
  /// Pops the value on top of the stack.
  static LuaRef pop(lua_State* L) { return {L, luaL_ref(L, LUA_REGISTRYINDEX)}; }
  LuaRef(LuaRef&& other) noexcept : L_(other.L_), ref_(std::exchange(other.ref_, LUA_NOREF)) {}
  LuaRef& operator=(LuaRef&& other) noexcept {
    std::swap(L_, other.L_);
    std::swap(ref_, other.ref_);
    return *this;
  }
  LuaRef(const LuaRef&) = delete;
  LuaRef& operator=(const LuaRef&) = delete;
  ~LuaRef() { reset(); }

  void reset() noexcept {
    if (ref_ != LUA_NOREF) luaL_unref(L_, LUA_REGISTRYINDEX, std::exchange(ref_, LUA_NOREF));
  }
  bool valid() const noexcept { return ref_ != LUA_NOREF && ref_ != LUA_REFNIL; }
  void push(lua_State* L) const { lua_rawgeti(L, LUA_REGISTRYINDEX, ref_); }

 private:
  // References are freed through the main state: the coroutine that made a reference may be collected earlier.
  LuaRef(lua_State* L, int ref) : L_(Vm::from(L).state()), ref_(ref) {}

  lua_State* L_ = nullptr;
  int ref_ = LUA_NOREF;
};

}  // namespace actorhost
