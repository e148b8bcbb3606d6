#include <string>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/program_values.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

/// Upvalue 1 is the function's name.
int call_host(lua_State* L) {
  const std::string name = lua_tostring(L, lua_upvalueindex(1));
  auto arguments = program_values_at(L, 1);
  if (!arguments) raise_at_user(L, "host." + name + ": " + arguments.error().message);
  const ProgramFunction& fn = NodeContext::of(L).shared.program->functions.at(name);
  std::string wrong;
  try {
    const ProgramValue result = fn(*arguments);
    push_program_value(L, result);
    return 1;
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  raise_at_user(L, wrong);
}

int open_host(lua_State* L) {
  lua_newtable(L);
  for (const auto& [name, fn] : NodeContext::of(L).shared.program->functions) {
    lua_pushlstring(L, name.data(), name.size());
    lua_pushcclosure(L, guarded<call_host>, 1);
    lua_setfield(L, -2, name.c_str());
  }
  return 1;
}

}  // namespace

void open_host(Vm& vm) {
  const auto& context = *static_cast<const NodeContext*>(vm.context());
  const auto& program = context.shared.program;
  if (program && !program->functions.empty()) vm.register_module("host", open_host);
}

}  // namespace actorhost
