#pragma once
// Converts Lua values to the engines' carried values (host/wire/carried_value.hpp) and to map-reduce rows. On the Vm's
// thread.

#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/wire/carried_value.hpp"

struct lua_State;

namespace actorhost {

/// One copy of each Lua tensor, by the address of the Lua object. Valid during one call from Lua, because addresses are
/// reused.
using TensorCopies = std::map<const void*, Tensor>;

/// Any value that the codec accepts. A contiguous tensor shares its memory unless `copies` is set. Code::bad_argument
/// for a refused value, with its path behind `what` ("push: value of \"w\"").
Result<CarriedValue> carried_value_at(lua_State* L, int index, TensorCopies* copies, const std::string& what);
/// Pushes the value. A tensor takes over the bytes if it is their only holder, or with `shared`; otherwise copies them.
/// On Code::bad_data (a LuaValue that does not decode) pushes nothing.
Status push_carried(lua_State* L, CarriedValue value, bool shared = false);

/// The value at `index`, packed. With `share` a contiguous tensor's bytes are not copied: for callers that send them
/// before the script continues.
Result<PackedValue> pack_value_at(lua_State* L, int index, const std::string& what, bool share = false);
/// As push_carried; Code::bad_data also for bytes other than a packed value.
Status push_packed(lua_State* L, PackedValue value);

/// Pushes one tensor with the rows of all parts. The parts are tensors that agree in all but the first dimension; a
/// tensor without dimensions counts as one row. Adjacent bodies in a block without other holders become the
/// result without a copy.
Status push_rows(lua_State* L, std::vector<PackedValue> parts);

/// pack(value) -> bytes: a row that contains tensors. Raises for values that the codec refuses.
int pack_row(lua_State* L);
/// unpack(bytes) -> value; or nil, message, code for other bytes.
int unpack_row(lua_State* L);

}  // namespace actorhost
