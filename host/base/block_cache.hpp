#pragma once
// Memory for large blocks of bytes (tensors, frame bodies), used again instead of being handed back: fresh pages cost
// page faults, and a block that was just let go may still be in the processor's cache. Any thread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>

namespace actorhost {

class BlockCache {
 public:
  /// Smaller blocks are the allocator's.
  static constexpr size_t kMinBytes = size_t{64} << 10;
  static constexpr uint32_t kWindow = 256;  // blocks taken, after which what was in use is past

  /// Keeps up to `floor_bytes`, or as many as are in use, or as many as make up what was in use lately, while the last
  /// hundreds of blocks were taken, whichever is most: who lets go of several blocks at a time, as a collector of
  /// garbage does, gets all of them again.
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
  void count(size_t taken) noexcept;

  const size_t floor_bytes_;
  std::atomic<size_t> most_bytes_{std::numeric_limits<size_t>::max()};
  mutable std::mutex mutex_;
  std::list<Block> kept_;  // longest unused first
  size_t kept_bytes_ = 0;
  size_t used_bytes_ = 0;
  // The most in use since every kWindow-th block was taken, and in the time before that.
  size_t most_now_ = 0;
  size_t most_before_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace actorhost
