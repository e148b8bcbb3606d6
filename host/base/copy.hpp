#pragma once
// memcpy for large blocks, most of which have left the caches by the time that they are read.

#include <cstddef>

namespace actorhost {

/// More than a core's own caches.
inline constexpr size_t kPastCaches = size_t{4} << 20;

/// Copies `bytes`, a part of a block of `whole` bytes; source and target do not overlap. Parts of a block of at least
/// kPastCaches are written past the caches: a line is not read before it is written, and cached data stays cached.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes, size_t whole) noexcept;

}  // namespace actorhost
