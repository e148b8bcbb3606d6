#pragma once
// memcpy for blocks of which most will not be in a cache any more when somebody reads them.

#include <cstddef>

namespace actorhost {

/// More than a core's own caches.
inline constexpr size_t kPastCaches = size_t{4} << 20;

/// Copies `bytes`, which do not overlap, of a block of `whole` bytes. Those of a block of kPastCaches and more are
/// written past the caches: its lines need not be read before they are written, and what is cached stays so.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes, size_t whole) noexcept;

}  // namespace actorhost
