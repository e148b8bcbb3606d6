#pragma once
// Sets up the environment of every script: strict globals, text-only load functions, `print` through the Vm's sink, and
// module loaders that search the embedded library, the Vm's ModuleSource and C libraries, in this order. Called once
// per state, in a protected call, after the standard libraries are open.

struct lua_State;

namespace actorhost {

void open_sandbox(lua_State* L);
/// Replaces `print`, `io.write` and `io.stdout:write` by versions that write whole lines to one sink (Vm::write).
/// Raises when memory runs out.
void replace_output(lua_State* L);

}  // namespace actorhost
