#pragma once
// Lua values as what engines carry (host/wire/carried_value.hpp), and as rows of map-reduce. On the Vm's thread.

#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/wire/carried_value.hpp"

struct lua_State;

namespace actorhost {

/// Copies of Lua's tensors, one of each, by the address of the Lua object. For one call from Lua only, since addresses
/// are reused.
using TensorCopies = std::map<const void*, Tensor>;

/// Any value that can travel. A contiguous tensor shares its memory unless there is `copies`. Code::bad_argument for a
/// value that cannot travel; `what` stands before its path ("push: value of \"w\"").
Result<CarriedValue> carried_value_at(lua_State* L, int index, TensorCopies* copies, const std::string& what);
/// Pushes the value. A tensor takes over the bytes if they have no other holder, or `shared`; else they are copied.
/// Code::bad_data, and nothing is pushed, when a LuaValue does not decode.
Status push_carried(lua_State* L, CarriedValue value, bool shared = false);

/// The value at `index`, packed; with `share` a contiguous tensor's bytes are not copied, for callers that send them
/// before the script goes on.
Result<PackedValue> pack_value_at(lua_State* L, int index, const std::string& what, bool share = false);
/// As push_carried; Code::bad_data also for bytes that are no packed value.
Status push_packed(lua_State* L, PackedValue value);

/// Pushes one tensor of the rows of all of them, which are tensors that agree in all but the first dimension; one
/// without dimensions counts as one row. Bodies that lie behind each other in a block that nobody else holds are the
/// result as they are, others are copied.
Status push_rows(lua_State* L, std::vector<PackedValue> parts);

/// pack(value) -> bytes: a row with tensors in it. Raises what the codec refuses.
int pack_row(lua_State* L);
/// unpack(bytes) -> value; nil and a message when the bytes are no packed row.
int unpack_row(lua_State* L);

}  // namespace actorhost
