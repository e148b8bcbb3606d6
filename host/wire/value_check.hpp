#pragma once
// The bounds check in front of decoding a Lua value that came from a file or the network. LuaJIT's decoder trusts its
// input: six bytes can make it allocate 1.5 GiB. Pure functions over bytes, any thread; bindings/vm/lua_codec.cpp
// decodes nothing that has not passed.

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
