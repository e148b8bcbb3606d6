#pragma once
// The peer-to-peer engine for stdlib/actor/peer: runs, and values of keys stored on peers. On the Vm's thread.

struct lua_State;

namespace actorhost {

/// Adds its functions to the table on top of the stack.
void add_peer_run(lua_State* L);

}  // namespace actorhost
