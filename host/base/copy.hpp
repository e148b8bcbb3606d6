#pragma once
// memcpy for large blocks, most of which have left the caches before they are read.

#include <cstddef>

namespace actorhost {

/// More than the private caches of a core.
inline constexpr size_t kPastCaches = size_t{4} << 20;

/// Copies `bytes` bytes, a part of a block of `whole` bytes; source and target do not overlap. Blocks of at least
/// kPastCaches are written with streaming stores: these do not read a cache line before they write the line, and they
/// evict no cached data.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes, size_t whole) noexcept;

}  // namespace actorhost
