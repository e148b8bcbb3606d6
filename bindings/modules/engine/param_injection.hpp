#pragma once
// `--inject` for the workers of param.run: draws the slow workers and their delays from the run's seed. On the Vm's
// thread.

struct lua_State;

namespace actorhost {

/// Adds `injects` and `injection` to the table on top of the stack.
void add_injection(lua_State* L);

}  // namespace actorhost
