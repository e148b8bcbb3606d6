#pragma once
// Writes and reads the small metadata of a frame: fixed little-endian numbers and length-prefixed strings. Unpacker
// checks every read against the remaining bytes, and fails instead of reading past them. So a decoder reads all its
// fields and checks `ok()` once. `count()` bounds counts before the decoder reserves memory.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "host/base/printable.hpp"

namespace actorhost {

class Packer {
 public:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Packer& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& put(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  Packer& put(const std::string& text) { return put(std::string_view(text)); }
  Packer& put(const char* text) { return put(std::string_view(text)); }

  const std::string& bytes() const& { return bytes_; }
  std::string&& bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) T get() {
    T value{};
    if (!take(sizeof value)) return value;
    std::memcpy(&value, taken_, sizeof value);
    return value;
  }
  /// A view into the bytes given to the constructor.
  std::string_view text() {
    const auto size = get<uint32_t>();
    if (!take(size)) return {};
    return {taken_, size};
  }
  /// A text for people, as one line without control characters, whatever the sender has put into it.
  std::string words() { return printable(text()); }
  /// Like words(), but newlines remain, for a script's traceback.
  std::string lines() { return printable(text(), Lines::kept); }
  /// Reads a count of items of at least `item_bytes` each; fails if the remaining bytes cannot hold them.
  uint32_t count(size_t item_bytes) {
    const auto n = get<uint32_t>();
    if (item_bytes != 0 && n > left_.size() / item_bytes) ok_ = false;
    return ok_ ? n : 0;
  }

  /// Fails the decoding: a field has an invalid value.
  void fail() noexcept { ok_ = false; }
  bool ok() const noexcept { return ok_; }
  /// True when all bytes are read and nothing has failed.
  bool done() const noexcept { return ok_ && left_.empty(); }
  std::string_view rest() const noexcept { return left_; }

 private:
  bool take(size_t size) noexcept {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      return false;
    }
    taken_ = left_.data();
    left_.remove_prefix(size);
    return true;
  }

  std::string_view left_;
  const char* taken_ = nullptr;
  bool ok_ = true;
};

}  // namespace actorhost
