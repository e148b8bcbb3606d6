#pragma once
// A bump allocator: a pointer moves through chunks, and all bytes are freed together. The owner counts the unused
// bytes. One thread at a time.

#include <cstddef>
#include <memory>
#include <vector>

namespace actorhost {

class Arena {
 public:
  static constexpr size_t kFirstChunk = size_t{8} << 10;
  static constexpr size_t kLargestChunk = size_t{1} << 20;

  /// Returns memory aligned to 8 bytes.
  char* allocate(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (static_cast<size_t>(end_ - at_) < size) [[unlikely]]
      new_chunk(size);
    char* bytes = at_;
    at_ += size;
    return bytes;
  }
  /// The size of all chunks.
  size_t bytes() const noexcept { return bytes_; }
  void clear() noexcept {
    chunks_.clear();
    at_ = end_ = nullptr;
    bytes_ = 0;
  }

 private:
  void new_chunk(size_t size) {
    const size_t usual = bytes_ < kFirstChunk ? kFirstChunk : bytes_ < kLargestChunk ? bytes_ : kLargestChunk;
    const size_t chunk = size > usual ? size : usual;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk));
    at_ = chunks_.back().get();
    end_ = at_ + chunk;
    bytes_ += chunk;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace actorhost
