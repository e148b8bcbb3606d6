#pragma once
// A block's bytes as they lie on disk: one LZ4 block, or the rows as they are where that makes them no smaller. Any
// thread.

#include <cstdint>
#include <optional>

#include "host/base/blob.hpp"

namespace actorhost {

/// The bytes to be stored; `raw` itself, not a copy, where it does not get smaller.
Blob pack_block(const Blob& raw);

/// The `raw_bytes` bytes that were packed into `stored`; nothing when they are not what was packed.
std::optional<Blob> unpack_block(const Blob& stored, uint64_t raw_bytes);

}  // namespace actorhost
