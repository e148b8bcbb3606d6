#pragma once
// The bytes of a block of rows on disk: one LZ4 block, or the plain rows if LZ4 would save less than a sixteenth. Pure
// functions; thread-safe.

#include <cstdint>
#include <optional>

#include "host/base/blob.hpp"

namespace actorhost {

/// Returns the bytes to store: an LZ4 block, or `raw` itself, not a copy.
Blob pack_block(const Blob& raw);

/// Returns the `raw_bytes` bytes that pack_block packed into `stored`; no value if `stored` is damaged.
std::optional<Blob> unpack_block(const Blob& stored, uint64_t raw_bytes);

}  // namespace actorhost
