#include "host/base/blob.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <new>

#include "host/base/block_cache.hpp"

namespace actorhost {

namespace {

/// The process-wide cache of large blocks, as part of the allocator. It is never destroyed, since blobs may outlive any
/// owner.
BlockCache& large_blocks() {
  static auto* const cache = new BlockCache;
  return *cache;
}

std::shared_ptr<std::byte[]> allocate_large(size_t size) {
  const BlockCache::Block block = large_blocks().take(size);
  return {block.data, [size = block.size](std::byte* data) { large_blocks().give({data, size}); }};
}

/// Up to this size the allocator is faster for unaligned blocks.
constexpr size_t kTinyBytes = 4096;

std::shared_ptr<std::byte[]> allocate_tiny(size_t size) {
  size_t room = size + kBlobAlignment;
  auto* whole = static_cast<std::byte*>(::operator new[](room));
  void* data = whole;
  std::align(kBlobAlignment, size, data, room);
  return {static_cast<std::byte*>(data), [whole](std::byte*) { ::operator delete[](whole); }};
}

std::shared_ptr<std::byte[]> allocate_small(size_t size) {
  auto* data = static_cast<std::byte*>(::operator new[](size, std::align_val_t{kBlobAlignment}));
  return {data, [](std::byte* p) { ::operator delete[](p, std::align_val_t{kBlobAlignment}); }};
}

/// Whether the build has a sanitizer, which must observe every allocation and release.
constexpr bool sanitized() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

#ifdef ACTORHOST_SANITIZED
/// For requests above a terabyte, `new` throws, but under sanitizers it ends the program.
constexpr size_t kMostBytes = size_t{1} << 39;
#else
constexpr size_t kMostBytes = SIZE_MAX / 2;
#endif

std::atomic<size_t> most_bytes = kMostBytes;

}  // namespace

Blob Blob::allocate(size_t size) {
  Blob blob;
  if (size == 0) return blob;
  if (size > most_bytes.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (sanitized()) {
    blob.owner_ = allocate_small(size);
  } else if (size <= kTinyBytes) {
    blob.owner_ = allocate_tiny(size);
  } else {
    blob.owner_ = size >= BlockCache::kMinBytes ? allocate_large(size) : allocate_small(size);
  }
  blob.data_ = blob.owner_.get();
  blob.size_ = size;
  return blob;
}

void limit_block(size_t bytes) noexcept { most_bytes.store(std::min(bytes, kMostBytes), std::memory_order_relaxed); }

void limit_cached_blocks(size_t bytes) noexcept { large_blocks().limit(bytes); }

Blob Blob::copy_of(const void* bytes, size_t size) {
  Blob blob = allocate(size);
  if (size != 0) std::memcpy(blob.data_, bytes, size);
  return blob;
}

Blob Blob::foreign(void* bytes, size_t size, std::function<void()> release) {
  Blob blob;
  blob.owner_ = {static_cast<std::byte*>(bytes), [release = std::move(release)](std::byte*) { release(); }};
  blob.data_ = static_cast<std::byte*>(bytes);
  blob.size_ = size;
  blob.lent_ = true;
  return blob;
}

Blob Blob::slice(size_t offset, size_t size) const {
  assert(offset <= size_ && size <= size_ - offset);
  Blob part = *this;
  part.data_ += offset;
  part.size_ = size;
  return part;
}

bool Blob::extend(const Blob& next) noexcept {
  const bool same = !owner_.owner_before(next.owner_) && !next.owner_.owner_before(owner_) && lent_ == next.lent_;
  if (empty() || !same || data_ + size_ != next.data_) return false;
  size_ += next.size_;
  return true;
}

Blob Blob::lent(std::function<void()> returned) const {
  Blob out = *this;
  out.lent_ = true;
  out.owner_ = {data_, [block = owner_, returned = std::move(returned)](std::byte*) mutable {
                  block.reset();
                  returned();
                }};
  return out;
}

}  // namespace actorhost
