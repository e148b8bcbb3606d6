#pragma once
// Converts Lua values to what collectives carry, and back. On the Vm's thread.

#include <string>

#include "host/engine/collective/call.hpp"

struct lua_State;

namespace actorhost {

/// A value as a parcel of `collective.name`; raises where it cannot travel.
Parcel parcel_at(lua_State* L, int index, const std::string& name);
void push_parcel(lua_State* L, Parcel parcel);

/// Pushes the result of an exchange and returns how many values that is: an array with a field `n`, without an element
/// where a member gave nothing; joined, one tensor of the rows of all members.
int push_gets(lua_State* L, CallResult result);
int push_joined(lua_State* L, CallResult result);

}  // namespace actorhost
