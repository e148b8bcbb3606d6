#pragma once
// What every script runs inside: strict globals, text-only load functions, module loaders that search the
// embedded library, the Vm's ModuleSource and C libraries (in this order), print through the Vm's sink.
// Called once per state, inside a protected call, after the standard libraries are open.

struct lua_State;

namespace actorhost {

void open_sandbox(lua_State* L);

}  // namespace actorhost
