#pragma once
// An entry of a CombineTable. The layout is shared with Lua (bindings/modules/mapreduce/ffi_mapreduce.h): 32 bytes, two
// in a cache line.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

/// The tag of a whole row as a key (KeyOf::row). Other keys have RowTag::no .. RowTag::text, or RowTag::tuple.
inline constexpr uint8_t kRowKey = 7;

/// Precedes the bytes of a value in the table's arena.
struct CombineValueHead {
  uint32_t capacity = 0;
  uint32_t size = 0;
};

struct CombineSlot {
  uint64_t hash;
  union {
    double number;      // of a number; 0 and 1 of false and true
    const char* value;  // of text and values: the payload, after a CombineValueHead
  };
  union {
    uint64_t word;    // a key of up to 8 bytes, padded with zeros; the bits of a number
    const char* key;  // a longer key
  };
  uint32_t key_size;  // of a text, or a row; 8 of a number, 0 of a boolean
  uint8_t key_tag;    // 0 for an empty slot
  uint8_t tag;        // RowTag of the value; nil until a value is set
  uint16_t unused;

  const char* key_bytes() const noexcept { return key_size <= 8 ? reinterpret_cast<const char*>(&word) : key; }
  uint32_t value_size() const noexcept {
    uint32_t size = 0;
    std::memcpy(&size, value - sizeof size, sizeof size);
    return size;
  }
  bool value_is_bytes() const noexcept { return is_bytes(static_cast<RowTag>(tag)); }
};
static_assert(sizeof(CombineSlot) == 32);
static_assert(offsetof(CombineSlot, number) == 8 && offsetof(CombineSlot, key_size) == 24);

/// Loads at most 8 bytes, padded with zeros. Never reads beyond `size`.
inline uint64_t load_word(const char* bytes, size_t size) noexcept {
  if (size >= 4) {
    uint32_t low = 0;
    uint32_t high = 0;
    std::memcpy(&low, bytes, sizeof low);
    std::memcpy(&high, bytes + size - 4, sizeof high);
    return low | uint64_t{high} << (8 * (size - 4));
  }
  if (size == 0) return 0;
  const auto at = [&](size_t i) { return uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i); };
  return at(0) | at(size / 2) | at(size - 1);
}

}  // namespace actorhost
