#include "host/base/block_cache.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace actorhost {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
// From this size on, blocks use huge pages if the system has them: one page fault per 2 MiB instead of per 4 KiB.
constexpr size_t kHugeFrom = size_t{4} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

constexpr std::align_val_t alignment_of(size_t size) {
  return std::align_val_t{size >= kHugeFrom ? kHugePage : kAlignment};
}

BlockCache::Block allocate(size_t size) {
  auto* data = static_cast<std::byte*>(::operator new(size, alignment_of(size)));
#ifdef MADV_HUGEPAGE
  if (size >= kHugeFrom) ::madvise(data, size / kPage * kPage, MADV_HUGEPAGE);
#endif
  return {data, size};
}

void release(BlockCache::Block block) noexcept { ::operator delete(block.data, alignment_of(block.size)); }

}  // namespace

BlockCache::~BlockCache() {
  for (const Block& block : cached_) release(block);
}

BlockCache::Block BlockCache::take(size_t size) {
  Block block;
  {
    std::lock_guard lock(mutex_);
    block = find(size);
    if (block.data != nullptr) count(block.size);
  }
  if (block.data != nullptr) return block;
  block = allocate(size);
  std::lock_guard lock(mutex_);
  count(block.size);
  return block;
}

void BlockCache::count(size_t taken) noexcept {
  used_bytes_ += taken;
  current_peak_ = std::max(current_peak_, used_bytes_);
  if (++taken_ < kWindow) return;
  taken_ = 0;
  previous_peak_ = std::exchange(current_peak_, used_bytes_);
}

/// The newest cached block that wastes at most an eighth of `size`.
BlockCache::Block BlockCache::find(size_t size) {
  for (auto at = cached_.rbegin(); at != cached_.rend(); ++at) {
    if (at->size < size || at->size - size > size / 8) continue;
    const Block block = *at;
    cached_bytes_ -= block.size;
    cached_.erase(std::next(at).base());
    return block;
  }
  return {};
}

void BlockCache::give(Block block) noexcept {
  std::list<Block> evicted;
  {
    std::lock_guard lock(mutex_);
    used_bytes_ -= block.size;
    try {
      cached_.push_back(block);
      cached_bytes_ += block.size;
    } catch (const std::bad_alloc&) {
      release(block);
    }
    const size_t lately = std::max(current_peak_, previous_peak_) - used_bytes_;
    const size_t bound =
        std::min(std::max({used_bytes_, floor_bytes_, lately}), most_bytes_.load(std::memory_order_relaxed));
    while (cached_bytes_ > bound) {
      cached_bytes_ -= cached_.front().size;
      evicted.splice(evicted.end(), cached_, cached_.begin());
    }
  }
  for (const Block& old : evicted) release(old);
}

}  // namespace actorhost
