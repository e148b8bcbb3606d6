#pragma once
// A reference-counted block of bytes: tensor storage and frame bodies. A block is 64-byte aligned, unless another owner
// has made it. Copying a Blob shares the block; a slice keeps the whole block alive. The reference count is atomic;
// access to the bytes is not synchronised. A shared block is read-only: `unique()` reports whether writing in place is
// safe.

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace actorhost {

inline constexpr size_t kBlobAlignment = 64;

class Blob {
 public:
  Blob() = default;
  /// `size` uninitialised bytes; throws std::bad_alloc.
  static Blob allocate(size_t size);
  static Blob copy_of(const void* bytes, size_t size);
  /// Bytes of another owner, of any alignment. Calls `release`, on any thread, once no Blob refers to them. Other code
  /// may write to the bytes, so they are never `unique`.
  static Blob foreign(void* bytes, size_t size, std::function<void()> release);
  static Blob copy_of(std::string_view bytes) { return copy_of(bytes.data(), bytes.size()); }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  char* chars() noexcept { return reinterpret_cast<char*>(data_); }
  const char* chars() const noexcept { return reinterpret_cast<const char*>(data_); }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {chars(), size_}; }

  /// Bytes [offset, offset + size), which share this block. The range must be within the block.
  Blob slice(size_t offset, size_t size) const;
  /// If the bytes of `next` directly follow in the same block, appends them to this Blob; otherwise returns false.
  bool extend(const Blob& next) noexcept;
  /// The same bytes, lent to a reader. `returned` is called, on any thread, once the reader and all copies have
  /// released the bytes. Lent bytes are never `unique`.
  Blob lent(std::function<void()> returned) const;
  /// True when no other Blob refers to the block.
  bool unique() const noexcept {
    if (lent_ || owner_.use_count() != 1) return false;
    // use_count reads the count without ordering. Releasing this extra reference orders all earlier releases, and so
    // the other holders' reads, before our writes.
    [[maybe_unused]] const std::shared_ptr<std::byte[]> one_more = owner_;
    return true;
  }

 private:
  std::shared_ptr<std::byte[]> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool lent_ = false;
};

/// The maximum bytes of a block: `allocate` throws above the limit, even where the system would overcommit.
void limit_block(size_t bytes) noexcept;

/// The maximum bytes of released blocks that the process caches for reuse. By default the cache holds at least as many
/// bytes as are in use (BlockCache).
void limit_cached_blocks(size_t bytes) noexcept;

}  // namespace actorhost
