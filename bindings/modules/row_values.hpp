#pragma once
// Lua values that have tensors in them as one piece of bytes, for rows of map-reduce: what the codec writes, and the
// tensors behind it. A packed value begins with kPackedMark, which nothing that the codec writes for a table does. On
// the Vm's thread.

struct lua_State;

namespace actorhost {

inline constexpr unsigned char kPackedMark = 0xff;

/// pack(value) -> bytes: for values that encode with tensors. Raises what the codec refuses.
int pack_value(lua_State* L);
/// unpack(bytes) -> value; nil and a message when the bytes are no packed value.
int unpack_value(lua_State* L);

}  // namespace actorhost
