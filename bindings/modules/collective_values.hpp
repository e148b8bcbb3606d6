#pragma once
// Pushes what ranks gave each other in a collective. On the Vm's thread.

#include "host/engine/collective/call.hpp"

struct lua_State;

namespace actorhost {

/// Pushes the result of an exchange and returns how many values that is: an array with a field `n`, without an element
/// where a member gave nothing; joined, one tensor of the rows of all members.
int push_gets(lua_State* L, CallResult result);
int push_joined(lua_State* L, CallResult result);

}  // namespace actorhost
