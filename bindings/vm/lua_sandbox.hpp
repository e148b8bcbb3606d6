#pragma once
// What every script runs inside: strict globals, text-only load functions, module loaders that search the
// embedded library, the Vm's ModuleSource and C libraries (in this order), print through the Vm's sink.
// Called once per state, inside a protected call, after the standard libraries are open.

struct lua_State;

namespace actorhost {

void open_sandbox(lua_State* L);
/// Puts `print`, `io.write` and `io.stdout:write`, which end in one sink of whole lines (Vm::write), in place of the
/// built-in ones; raises what memory runs out for.
void replace_output(lua_State* L);

}  // namespace actorhost
