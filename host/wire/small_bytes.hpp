#pragma once
// A byte string with up to 64 bytes inline, so that a small frame needs no allocation.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace actorhost {

class SmallBytes {
 public:
  static constexpr size_t kInline = 64;

  SmallBytes() noexcept = default;
  explicit SmallBytes(std::string_view bytes) { assign(bytes.data(), bytes.size()); }
  SmallBytes(const SmallBytes& other) { assign(other.data(), other.size()); }
  SmallBytes(SmallBytes&& other) noexcept { take(other); }
  SmallBytes& operator=(const SmallBytes& other) {
    if (this != &other) assign(other.data(), other.size());
    return *this;
  }
  SmallBytes& operator=(SmallBytes&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallBytes() { release(); }

  const std::byte* data() const noexcept { return size_ <= kInline ? inline_ : heap_; }
  std::byte* data() noexcept { return size_ <= kInline ? inline_ : heap_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(data()), size_}; }

  /// Replaces the content by `size` uninitialised bytes and returns them.
  std::byte* resize(size_t size) {
    release();
    if (size > kInline) heap_ = new std::byte[size];
    size_ = static_cast<uint32_t>(size);
    return data();
  }
  void assign(const void* bytes, size_t size) {
    std::byte* to = resize(size);
    if (size != 0) std::memcpy(to, bytes, size);
  }

 private:
  void release() noexcept {
    if (size_ > kInline) delete[] heap_;
    size_ = 0;
  }
  void take(SmallBytes& other) noexcept {
    size_ = other.size_;
    if (size_ > kInline) {
      heap_ = other.heap_;
    } else if (size_ != 0) {
      std::memcpy(inline_, other.inline_, kInline);
    }
    other.size_ = 0;
  }

  uint32_t size_ = 0;
  union {
    std::byte inline_[kInline];
    std::byte* heap_;
  };
};

}  // namespace actorhost
