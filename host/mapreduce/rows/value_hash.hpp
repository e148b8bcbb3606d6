#pragma once
// A hash of the bytes of an encoded value (bindings/vm/lua_codec.cpp, row_values.hpp) that is the same for equal
// values: nodes write the keys of a table in the order of their `pairs`, which is another one in each VM.

#include <cstdint>
#include <string_view>

namespace actorhost {

/// Of damaged bytes some hash.
uint64_t value_hash(std::string_view encoded) noexcept;

}  // namespace actorhost
