#pragma once
// Copies of many bytes at a time.

#include <cstddef>

namespace actorhost {

/// memcpy for what is larger than the processor's own caches: without reading first what will be overwritten, where the
/// processor knows how. With two threads at it that is half of the time. The ranges must not overlap.
void copy_bytes(void* to, const void* from, size_t bytes) noexcept;

}  // namespace actorhost
