#pragma once
// A hash of an encoded value (host/wire/value_bytes.hpp, carried_value.hpp). Equal values have equal hashes, also where
// their bytes differ: each VM writes the keys of a table in the order of its own `pairs`.

#include <cstdint>
#include <string_view>

namespace actorhost {

/// Damaged bytes have an arbitrary hash.
uint64_t value_hash(std::string_view encoded) noexcept;

}  // namespace actorhost
