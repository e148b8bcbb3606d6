#pragma once
// The bounds check in front of decoding a Lua value that came from a file or the network. LuaJIT's decoder trusts its
// input: six bytes can make it allocate 1.5 GiB. Pure functions over bytes, any thread; bindings/vm/lua_codec.cpp
// decodes nothing that has not passed. The encoding is that of LuaJIT's string.buffer; this is the part of it that is
// allowed:
//
//   value  = 0x00 (nil) | 0x01 (false) | 0x02 (true) | 0x06 int:i32 | 0x07 number:f64
//          | 0x10 int:i64 | 0x11 int:u64
//          | 0x12 index:f64 0.0:f64                      a complex number, stands for tensor `index` beside the value
//          | count+0x20 bytes                            a string of `count` bytes
//          | table
//   table  = 0x08 | 0x09 pairs | 0x0a|0x0c count items | 0x0b|0x0d count pairs-count items pairs
//   items  = value...       `count` of them; one fewer after 0x0c and 0x0d, whose count includes the missing slot 0
//   pairs  = count (key value)...                         for 0x0b and 0x0d the count stands before the items
//   key    = value, but no nil, NaN, 64-bit integer, tensor or table
//   count  = 0x00..0xdf | 0xe0..0xfe low:u8 (0xe0 + 13 bits) | 0xff u32
//
// All little-endian. Light userdata (0x03..0x05), dictionary tags (0x0e, 0x0f) and everything else are refused.

#include <cstdint>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

struct ValueLimits {
  uint32_t depth = 64;  // tables within tables
  uint64_t slots =
      16ULL << 20;  // tables, array items and pairs of the whole value; each costs up to 100 bytes of memory
  uint64_t bytes = 1ULL << 30;  // of the encoding
};

/// Whether `bytes` hold exactly one value that decodes within `limits` and names no tensor from `tensors` on. Otherwise
/// bad_data, with what is wrong and at which offset. Costs about a nanosecond per byte or less and allocates nothing on
/// success. Repeated keys are left to the decoder, which refuses them.
Status check_value(std::string_view bytes, uint32_t tensors = 0, const ValueLimits& limits = {});

}  // namespace actorhost
