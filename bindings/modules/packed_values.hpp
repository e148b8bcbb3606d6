#pragma once
// Lua values as a small head and one block of bytes, for engines that carry them without looking inside. On the Vm's
// thread.
//
//   head   = 0                                    nil
//          | 1 layout                             a tensor; body: its elements
//          | 2 encoding                           a small Lua value without tensors; no body
//          | 3 size:u64 count:u32 *layout         any other; body: its encoding of that size, then its tensors
//   layout = dtype:u8 rank:u8 *dim:u64
//
// In a body each part begins at a multiple of 64 bytes.

#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/engine/share/packed_value.hpp"

struct lua_State;

namespace actorhost {

/// Copies the value at `index`; with `share` a contiguous tensor's bytes are shared instead, for callers that send them
/// before the script goes on. Code::bad_argument for a value that cannot travel; `what` stands before its path.
Result<PackedValue> pack_value(lua_State* L, int index, const std::string& what, bool share = false);

/// Pushes the value. A tensor takes over the bytes where nobody else holds them, else they are copied. Code::bad_data,
/// and nothing is pushed, when they are not a value.
Status push_packed(lua_State* L, PackedValue value);

/// Pushes one tensor of the rows of all of them, which are tensors that agree in all but the first dimension; one
/// without dimensions counts as one row. Bodies that lie behind each other in a block that nobody else holds are the
/// result as they are, others are copied.
Status push_rows(lua_State* L, std::vector<PackedValue> parts);

}  // namespace actorhost
