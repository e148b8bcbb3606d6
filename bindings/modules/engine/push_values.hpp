#pragma once
// Functions of `actor.c.param` for merge rules, which read and change the pushes of a run. They run on the Vm's thread
// of server 0, while the merge rule decides.

struct lua_State;

namespace actorhost {

class ParamServer;

/// This node's server. Defined in lua_param.cpp.
ParamServer& current_server(lua_State* L);

/// Adds the functions to the module on top of the stack.
void add_push_values(lua_State* L);

}  // namespace actorhost
