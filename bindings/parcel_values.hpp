#pragma once
// Lua values as parcels of a collective, and back: a tensor's bytes as they are, any other value encoded, with its
// tensors behind it. On the Vm's thread; the pulling side checks everything, since parcels come from the network.

#include "host/base/result.hpp"
#include "host/engine/collective/collective_messages.hpp"

struct lua_State;

namespace actorhost {

/// The value at `index` as a parcel. A contiguous tensor's bytes are shared, not copied: the script must not run on
/// before they are not needed any more. Code::bad_argument, with the path below `name`, for what cannot travel.
Result<Parcel> to_parcel(lua_State* L, int index, const char* name);

/// Pushes the value; takes over the parcel's bytes, which nobody else may hold. On failure (bad_data) nothing is
/// pushed.
Status push_parcel(lua_State* L, Parcel parcel);

}  // namespace actorhost
