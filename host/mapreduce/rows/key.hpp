#pragma once
// Keys: rows are grouped, partitioned and compared by their first value or by the whole row. As keys, 0 and -0 are
// equal, and so are all NaNs. Hashes, and so partitions, are the same on every machine: XXH3 of a text's bytes, or of
// another value's bytes with the tag as the seed.

#define XXH_INLINE_ALL
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <xxhash.h>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/row.hpp"

namespace actorhost {

/// The key of a row: its first value or the whole row.
enum class KeyOf : uint8_t { first, row };

inline uint64_t text_hash(std::string_view text) noexcept { return XXH3_64bits(text.data(), text.size()); }

/// Hashes a boolean, number, text or tuple.
inline uint64_t key_hash(const RowValue& key) noexcept {
  if (key.kind() == RowTag::text) [[likely]]
    return text_hash(key.text());
  if (key.kind() == RowTag::tuple) return XXH3_64bits_withSeed(key.bytes, key.size, key.tag);
  const double number = canonical(key.number);
  return XXH3_64bits_withSeed(&number, sizeof number, key.tag);
}

inline uint64_t row_hash(std::string_view row) noexcept { return XXH3_64bits_withSeed(row.data(), row.size(), 0x80); }

inline uint64_t hash_of(const RowReader::Row& row, KeyOf key) noexcept {
  return key == KeyOf::first ? key_hash(row.first) : row_hash(row.bytes());
}

/// Maps a hash to 0 .. buckets-1, in the order of hashes.
inline uint32_t bucket_of(uint64_t hash, uint32_t buckets) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint32_t>((Wide{hash} * buckets) >> 64);
}

/// Whether a value can be a key: not nil, not a table. Of an array of such values, the tuple can (tuple_key.hpp).
inline bool is_key(const RowValue& value) noexcept { return value.tag - 1 < 4 || value.kind() == RowTag::tuple; }

/// Describes a value for errors: "text 'x'", "number 3", "nil". Cuts long texts.
std::string describe(const RowValue& value);
/// Code::bad_argument: names a value that cannot be a key.
Error not_a_key(const RowValue& value);
/// Code::bad_argument, with advice, unless whole rows like this one can be compared.
Status check_comparable(const RowValue& first, const RowValue* second);
/// A total order of keys with equal hashes.
inline bool key_bytes_less(const RowReader::Row& a, const RowReader::Row& b, KeyOf key) noexcept {
  if (key == KeyOf::row) return a.bytes() < b.bytes();
  return a.key_tag() != b.key_tag() ? a.key_tag() < b.key_tag() : a.key_rest() < b.key_rest();
}

/// The number of bytes that write_value writes.
inline size_t written_size(const RowValue& value) noexcept {
  switch (value.kind()) {
    case RowTag::number: return 1 + sizeof value.number;
    case RowTag::text:
    case RowTag::value:
    case RowTag::tuple: {
      size_t size = 2 + value.size;
      for (uint64_t left = value.size >> 7; left != 0; left >>= 7) ++size;
      return size;
    }
    default: return 1;
  }
}

/// Writes into memory as RowWriter does. Returns the end of the written bytes.
inline char* write_value(char* at, const RowValue& value, bool pair) noexcept {
  *at++ = static_cast<char>(value.tag | (pair ? kPairBit : 0U));
  if (value.kind() == RowTag::number) {
    const double number = one_nan(value.number);
    std::memcpy(at, &number, sizeof number);
    return at + sizeof number;
  }
  if (!is_bytes(value.kind())) return at;
  uint64_t left = value.size;
  for (; left >= 128; left >>= 7) *at++ = static_cast<char>((left & 127) | 128);
  *at++ = static_cast<char>(left);
  if (value.size != 0) std::memcpy(at, value.bytes, value.size);
  return at + value.size;
}

}  // namespace actorhost
