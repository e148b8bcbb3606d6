#pragma once
// A cache of the short texts that a Vm already has as Lua strings, each with its place in a table of the Vm. A repeated
// word costs one lookup of 16 bytes here. Without the cache LuaJIT searches its string table, whose chains are spread
// over its heap. Each Vm owns one cache and uses it on its thread.

#include <array>
#include <cstdint>
#include <cstring>

namespace actorhost {

class ShortTexts {
 public:
  static constexpr uint64_t kMost = 15;       // bytes of a text
  static constexpr uint32_t kPlaces = 16384;  // the size of Lua's table

  /// Returns the place of a text of at most kMost bytes. For a missing text returns -1 - place, where `place` is free
  /// for the text and stays empty until `keep`.
  int32_t find(const char* bytes, uint64_t size) noexcept {
    const Text text = text_of(bytes, size);
    const auto place = static_cast<uint32_t>((text.low ^ text.high * 0x9e3779b97f4a7c15U) * 0xd6e8feb86659fd93U >> 50);
    Text& entry = texts_[place];
    if (entry.low == text.low && entry.high == text.high) return static_cast<int32_t>(place);
    entry = {};
    return -1 - static_cast<int32_t>(place);
  }
  /// Records that the text has that place.
  void keep(uint32_t place, const char* bytes, uint64_t size) noexcept { texts_[place] = text_of(bytes, size); }

 private:
  /// The whole text: its bytes, and in the top byte its length plus 1, so that no text is all zeros.
  struct Text {
    uint64_t low = 0;
    uint64_t high = 0;
  };

  template <typename T>
  static uint64_t load(const char* bytes) noexcept {
    T value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  /// Loads up to 7 bytes.
  static uint64_t few(const char* bytes, uint64_t size) noexcept {
    if (size >= 4) return load<uint32_t>(bytes) | load<uint32_t>(bytes + size - 4) << 8 * (size - 4);
    if (size >= 2) return load<uint16_t>(bytes) | load<uint16_t>(bytes + size - 2) << 8 * (size - 2);
    return size == 1 ? load<uint8_t>(bytes) : 0;
  }
  static Text text_of(const char* bytes, uint64_t size) noexcept {
    const uint64_t mark = (size + 1) << 56;
    if (size < 8) return {few(bytes, size), mark};
    return {load<uint64_t>(bytes), few(bytes + 8, size - 8) | mark};
  }

  std::array<Text, kPlaces> texts_{};
};

}  // namespace actorhost
