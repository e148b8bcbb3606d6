#pragma once
// The bytes of a block on disk: one LZ4 block, or the plain rows where LZ4 makes them no smaller. Thread-safe.

#include <cstdint>
#include <optional>

#include "host/base/blob.hpp"

namespace actorhost {

/// Returns the bytes to store; `raw` itself, not a copy, where LZ4 makes it no smaller.
Blob pack_block(const Blob& raw);

/// Returns the `raw_bytes` bytes that pack_block packed into `stored`, or nothing when `stored` is damaged.
std::optional<Blob> unpack_block(const Blob& stored, uint64_t raw_bytes);

}  // namespace actorhost
