#pragma once
// Blocks that are used again instead of being freed: fresh big blocks cost more in page faults than a copy of them. A
// block may be recycled while others still hold it; it is handed out again once nobody else does. One thread owns a
// pool; the other holders may let go on any.

#include <cstddef>
#include <vector>

#include "host/base/blob.hpp"

namespace actorhost {

class BlobPool {
 public:
  /// Keeps at most `max_bytes`, and no block smaller than `min_bytes`.
  explicit BlobPool(size_t max_bytes = size_t{64} << 20, size_t min_bytes = size_t{64} << 10)
      : max_bytes_(max_bytes), min_bytes_(min_bytes) {}

  /// `size` uninitialised bytes, the caller's alone; throws std::bad_alloc.
  Blob allocate(size_t size);
  /// Puts a block that is no longer written to into the pool. The oldest ones go when it is full.
  void recycle(Blob block);

 private:
  size_t max_bytes_;
  size_t min_bytes_;
  size_t bytes_ = 0;
  std::vector<Blob> blocks_;  // oldest first
};

}  // namespace actorhost
