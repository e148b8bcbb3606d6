#pragma once
// Checks an encoded Lua value from a file or the network before it is decoded. LuaJIT's decoder trusts its input: six
// bytes can make it allocate 1.5 GiB. Pure functions over bytes, thread-safe; bindings/vm/lua_codec.cpp decodes only
// checked bytes.

#include <cstdint>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

struct ValueLimits {
  uint32_t depth = 64;  // tables within tables
  /// Tables, array items and pairs of the whole value; each costs up to 100 bytes of memory.
  uint64_t slots = 16ULL << 20;
  uint64_t bytes = 1ULL << 30;  // of the encoding
};

/// Whether `bytes` hold exactly one value that decodes within `limits` and refers only to tensors below `tensors`.
/// Otherwise Code::bad_data with the problem and its offset. Costs at most about a nanosecond per byte; allocates
/// nothing on success. The decoder itself refuses repeated keys.
Status check_value(std::string_view bytes, uint32_t tensors = 0, const ValueLimits& limits = {});

}  // namespace actorhost
