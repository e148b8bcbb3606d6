#include <string>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

Value value_at(lua_State* L, int index, const std::string& function) {
  switch (lua_type(L, index)) {
    case LUA_TNIL: return {};
    case LUA_TBOOLEAN: return lua_toboolean(L, index) != 0;
    case LUA_TNUMBER: return lua_tonumber(L, index);
    case LUA_TSTRING: {
      size_t size = 0;
      const char* bytes = lua_tolstring(L, index, &size);
      return std::string(bytes, size);
    }
    case LUA_TTABLE: {
      std::vector<double> numbers;
      numbers.reserve(lua_objlen(L, index));
      each_item(L, index, [&](int i) {
        if (lua_type(L, -1) != LUA_TNUMBER) {
          raise_bad_argument(L, -1, (std::to_string(index) + "[" + std::to_string(i) + "]").c_str(),
                             ("host." + function).c_str(), "number");
        }
        numbers.push_back(lua_tonumber(L, -1));
      });
      return numbers;
    }
    default: break;
  }
  raise_bad_argument(L, index, std::to_string(index).c_str(), ("host." + function).c_str(),
                     "nil, boolean, number, string or array of numbers");
}

struct Push {
  lua_State* L;
  void operator()(std::monostate) const { lua_pushnil(L); }
  void operator()(bool value) const { lua_pushboolean(L, value); }
  void operator()(double value) const { lua_pushnumber(L, value); }
  void operator()(const std::string& value) const { lua_pushlstring(L, value.data(), value.size()); }
  void operator()(const std::vector<double>& value) const { push_list(L, value); }
};

/// Upvalue 1 is the function's name.
int call_host(lua_State* L) {
  const std::string name = lua_tostring(L, lua_upvalueindex(1));
  std::vector<Value> arguments;
  for (int i = 1; i <= lua_gettop(L); ++i) arguments.push_back(value_at(L, i, name));
  const Function& fn = NodeContext::of(L).shared.functions.at(name);
  std::string wrong;
  try {
    std::visit(Push{L}, fn(arguments));
    return 1;
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  raise_at_user(L, wrong);
}

int open_host(lua_State* L) {
  lua_newtable(L);
  for (const auto& [name, fn] : NodeContext::of(L).shared.functions) {
    lua_pushlstring(L, name.data(), name.size());
    lua_pushcclosure(L, guarded<call_host>, 1);
    lua_setfield(L, -2, name.c_str());
  }
  return 1;
}

}  // namespace

void open_host(Vm& vm) {
  const auto& context = *static_cast<const NodeContext*>(vm.context());
  if (!context.shared.functions.empty()) vm.register_module("host", open_host);
}

}  // namespace actorhost
