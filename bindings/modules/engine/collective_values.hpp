#pragma once
// Pushes the values that ranks exchanged in a collective. On the Vm's thread.

#include "host/engine/collective/call_spec.hpp"

struct lua_State;

namespace actorhost {

/// Push the result of an exchange and return the number of pushed values. push_gets: an array with a field `n`, with
/// nil for a member that gave nothing. push_joined: one tensor with the rows of all members.
int push_gets(lua_State* L, CallResult result);
int push_joined(lua_State* L, CallResult result);

}  // namespace actorhost
