#pragma once
// Writing and reading the bytes of a filtered tensor. A writer reuses its memory for the next tensor; a returned
// pointer is valid until the next call. A reader checks each step against the remaining bytes.

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// Code::bad_data with the fault in the bytes of a filtered tensor.
inline Error malformed_filtered(const char* what) { return {Code::bad_data, std::string("filtered: ") + what}; }

class FilterWriter {
 public:
  static constexpr size_t kAlign = 8;

  /// Room for `size` more bytes, uninitialised.
  std::byte* take(size_t size) {
    if (memory_.size() - used_ < size) memory_.resize((used_ + size) + (used_ + size) / 2);
    std::byte* at = memory_.data() + used_;
    used_ += size;
    return at;
  }
  template <typename T>
  FilterWriter& put(T value) {
    std::memcpy(take(sizeof value), &value, sizeof value);
    return *this;
  }
  void align() {
    const size_t zeros = (kAlign - used_ % kAlign) % kAlign;
    if (zeros != 0) std::memset(take(zeros), 0, zeros);
  }
  size_t size() const noexcept { return used_; }
  std::byte* at(size_t offset) noexcept { return memory_.data() + offset; }
  void cut(size_t size) noexcept { used_ = size; }
  Blob blob() const { return Blob::copy_of(memory_.data(), used_); }

 private:
  std::vector<std::byte> memory_;
  size_t used_ = 0;
};

class FilterReader {
 public:
  explicit FilterReader(std::string_view bytes) noexcept : bytes_(bytes) {}

  /// The next `size` bytes, at any alignment; nullptr if fewer remain.
  const std::byte* take(size_t size) noexcept {
    if (size > left()) return nullptr;
    const auto* at = reinterpret_cast<const std::byte*>(bytes_.data()) + used_;
    used_ += size;
    return at;
  }
  template <typename T>
  bool get(T& value) noexcept {
    const std::byte* at = take(sizeof value);
    if (at != nullptr) std::memcpy(&value, at, sizeof value);
    return at != nullptr;
  }
  /// Skips the zeros up to the next multiple of 8; false if another byte is found.
  bool align() noexcept {
    while (used_ % FilterWriter::kAlign != 0) {
      char zero = 1;
      if (!get(zero) || zero != 0) return false;
    }
    return true;
  }
  size_t left() const noexcept { return bytes_.size() - used_; }

 private:
  std::string_view bytes_;
  size_t used_ = 0;
};

}  // namespace actorhost
