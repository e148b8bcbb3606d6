#pragma once
// Memory for large blocks of bytes (tensors, frame bodies), used again instead of being handed back: fresh pages cost
// page faults, and a block that was just let go may still be in the processor's cache. Any thread.

#include <atomic>
#include <cstddef>
#include <limits>
#include <list>
#include <mutex>

namespace actorhost {

class BlockCache {
 public:
  /// Smaller blocks are the allocator's.
  static constexpr size_t kMinBytes = size_t{64} << 10;

  /// Keeps up to `floor_bytes`, or as many as are in use, whichever is more.
  explicit BlockCache(size_t floor_bytes = size_t{64} << 20) : floor_bytes_(floor_bytes) {}
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  struct Block {
    std::byte* data = nullptr;
    size_t size = 0;  // as it was allocated: at least what was asked for
  };

  /// At least `size` uninitialised bytes, 64-byte aligned; throws std::bad_alloc.
  Block take(size_t size);
  /// A block that `take` gave. The longest unused ones go when there are too many.
  void give(Block block) noexcept;

  /// Keeps at most so many from now on, whatever is in use: where memory is meant for something else.
  void limit(size_t bytes) noexcept { most_bytes_.store(bytes, std::memory_order_relaxed); }

  size_t kept_bytes() const;

 private:
  Block find(size_t size);

  const size_t floor_bytes_;
  std::atomic<size_t> most_bytes_{std::numeric_limits<size_t>::max()};
  mutable std::mutex mutex_;
  std::list<Block> kept_;  // longest unused first
  size_t kept_bytes_ = 0;
  size_t used_bytes_ = 0;
};

}  // namespace actorhost
