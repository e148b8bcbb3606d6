#pragma once
// What a script writes: `print`, and `io.write` and `io.stdout:write`, which end in one sink of whole lines
// (Vm::write).

struct lua_State;

namespace actorhost {

/// Puts them in place of the built-in ones; raises what memory runs out for.
void replace_output(lua_State* L);

}  // namespace actorhost
