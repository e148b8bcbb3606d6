#pragma once
// Memory for large blocks of bytes (tensors, frame bodies), reused instead of being handed back to the system: fresh
// pages cost page faults, and a block that was just released may still be in the processor's cache. Any thread.

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
  static constexpr uint32_t kWindow = 256;  // "lately" means: while the last one or two of so many blocks were taken

  /// Keeps the largest of: `floor_bytes`; as many bytes as are in use; as many as were in use lately, while the last
  /// hundreds of blocks were taken. So a caller that releases several blocks at a time, as a garbage collector does,
  /// gets all of them again.
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
  /// Takes back a block that `take` gave. When there are too many, those that were unused longest are freed.
  void give(Block block) noexcept;

  /// Keeps at most so many from now on, however many are in use: for processes whose memory is meant for other things.
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
  // The most bytes in use since the last kWindow-th block was taken, and in the window before that.
  size_t most_now_ = 0;
  size_t most_before_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace actorhost
