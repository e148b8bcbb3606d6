#pragma once
// A cache of large blocks of bytes (tensors, frame bodies). Reuse avoids the page faults of fresh memory, and a
// recently released block may still be in the processor's cache. Thread-safe.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>

#include "host/base/non_copyable.hpp"

namespace actorhost {

class BlockCache : private NonCopyable {
 public:
  /// Smaller blocks belong to the allocator.
  static constexpr size_t kMinBytes = size_t{64} << 10;
  static constexpr uint32_t kWindow = 256;  // allocations of a window

  /// Caches up to the largest of three numbers of bytes: `floor_bytes`; the bytes in use; the maximum of bytes in use
  /// during the current and the previous window, less the bytes in use. A caller that releases several blocks at once,
  /// as a garbage collector does, can then reuse all of them.
  explicit BlockCache(size_t floor_bytes = size_t{64} << 20) : floor_bytes_(floor_bytes) {}
  ~BlockCache();

  struct Block {
    std::byte* data = nullptr;
    size_t size = 0;  // the allocated size: at least the requested size
  };

  /// At least `size` uninitialised bytes, 64-byte aligned; throws std::bad_alloc.
  Block take(size_t size);
  /// Takes back a block from `take`. When the cache exceeds its bound, it frees the least recently released blocks.
  void give(Block block) noexcept;

  /// Caches at most `bytes` from now on, regardless of the bytes in use: for processes that need their memory for other
  /// data.
  void limit(size_t bytes) noexcept { most_bytes_.store(bytes, std::memory_order_relaxed); }

 private:
  friend struct BlockCacheTest;
  Block find(size_t size);
  void count(size_t taken) noexcept;

  const size_t floor_bytes_;
  std::atomic<size_t> most_bytes_{std::numeric_limits<size_t>::max()};
  mutable std::mutex mutex_;
  std::list<Block> cached_;  // least recently released first
  size_t cached_bytes_ = 0;
  size_t used_bytes_ = 0;
  // The maximum bytes in use during the current window and during the previous window.
  size_t current_peak_ = 0;
  size_t previous_peak_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace actorhost
