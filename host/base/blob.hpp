#pragma once
// A reference-counted block of bytes, 64-byte aligned: tensor storage and frame bodies. Copying a Blob shares the
// block; a slice keeps the whole block alive. The count is atomic, the bytes are not guarded: whoever shares a block
// treats it as read-only (`unique()` tells whether writing in place is safe).

#include <cstddef>
#include <cstdint>
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
  static Blob copy_of(std::string_view bytes) { return copy_of(bytes.data(), bytes.size()); }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

  /// Bytes [offset, offset + size) of this block, sharing it. The range must lie within.
  Blob slice(size_t offset, size_t size) const;
  /// Makes the bytes of `next` part of this one where they lie right behind it in the same block; false where they
  /// don't.
  bool extend(const Blob& next) noexcept;
  /// The same bytes for somebody who reads them: `returned` is called, on any thread, when he and all whom he gave
  /// copies have let go. What is lent is never `unique`.
  Blob lent(std::function<void()> returned) const;
  /// True when no other Blob refers to the block.
  bool unique() const noexcept {
    if (lent_ || owner_.use_count() != 1) return false;
    // The count is read without order. Letting go of one more reference comes after all that let go before, and so do
    // our writes then come after their reads.
    [[maybe_unused]] const std::shared_ptr<std::byte[]> one_more = owner_;
    return true;
  }

 private:
  std::shared_ptr<std::byte[]> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool lent_ = false;
};

/// How much memory of blocks that were let go the process keeps for others, at most; without it as much as is in use.
void limit_kept_blocks(size_t bytes) noexcept;

}  // namespace actorhost
