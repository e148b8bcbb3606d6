#pragma once
// The order of keys: numbers by value (NaN is the greatest), texts by their bytes, false before true, tuples by their
// elements (tuple_key.hpp). Keys of different kinds cannot be compared. A rank is 64 bits in that order, which nearly
// always decide.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "host/base/result.hpp"
#include "host/mapreduce/rows/combine_slot.hpp"
#include "host/mapreduce/rows/key.hpp"

namespace actorhost {

enum class SortOrder : uint8_t {
  ascending,
  descending,
  hash  // by hash, then bytes: an order of keys of all kinds, for grouping
};

/// The first eight bytes as a number with the order of the bytes; a shorter text is padded with zeros.
inline uint64_t text_rank(std::string_view text) noexcept {
  uint64_t word = 0;
  if (text.size() >= sizeof word) [[likely]] {
    std::memcpy(&word, text.data(), sizeof word);
  } else {
    word = load_word(text.data(), text.size());
  }
  return __builtin_bswap64(word);
}

inline uint64_t number_rank(double number) noexcept {
  const auto bits = std::bit_cast<uint64_t>(canonical(number));
  return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
}

/// The rank in ascending order, for keys of any kind except nil and tables. Different ranks have the order of their
/// keys.
inline uint64_t key_rank(const RowValue& key) noexcept {
  if (is_bytes(key.kind())) return text_rank(key.text());
  return key.kind() == RowTag::number ? number_rank(key.number) : static_cast<uint64_t>(key.number);
}

inline uint64_t key_rank(const RowValue& key, SortOrder order) noexcept {
  if (order == SortOrder::hash) return key_hash(key);
  return order == SortOrder::ascending ? key_rank(key) : ~key_rank(key);
}

/// Returns -1, 0 or 1 for two keys of equal rank. The keys are of one kind unless the order is SortOrder::hash.
inline int compare_ties(const RowValue& a, const RowValue& b, SortOrder order) noexcept {
  const auto sign = [](auto x, auto y) { return (x > y) - (x < y); };
  if (order == SortOrder::hash && a.tag != b.tag) return sign(a.tag, b.tag);
  if (!is_bytes(a.kind())) return order == SortOrder::hash ? sign(a.number, b.number) : 0;
  const int compared = a.text().compare(b.text());
  return order == SortOrder::descending ? sign(0, compared) : sign(compared, 0);
}

/// Checks that all keys can be compared with each other.
class KeyKinds {
 public:
  explicit KeyKinds(SortOrder order) noexcept : order_(order) {}
  bool takes(const RowValue& key) noexcept {
    const auto kind = static_cast<uint8_t>(key.kind() == RowTag::no ? RowTag::yes : key.kind());
    if (kind == kind_) [[likely]]
      return true;
    return takes_first(key, kind);
  }
  /// Code::bad_argument: "cannot compare text 'x' with number 3", or names a value that cannot be a key.
  Error refused(const RowValue& key) const;

 private:
  bool takes_first(const RowValue& key, uint8_t kind) noexcept;

  SortOrder order_;
  uint8_t kind_ = 0;
  bool any_ = false;
  std::string first_;  // described, for the error
};

}  // namespace actorhost
