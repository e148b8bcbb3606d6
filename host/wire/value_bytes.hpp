#pragma once
// Lua values as bytes, without Lua: the permitted part of the encoding of LuaJIT's string.buffer:
//
//   value  = 0x00 (nil) | 0x01 (false) | 0x02 (true) | 0x06 int:i32 | 0x07 number:f64
//          | 0x10 int:i64 | 0x11 int:u64
//          | 0x12 index:f64 0.0:f64                      a complex number: tensor `index` of the value's tensors
//          | count+0x20 bytes                            a string of `count` bytes
//          | table
//   table  = 0x08 | 0x09 pairs | 0x0a|0x0c count items | 0x0b|0x0d count pairs-count items pairs
//   items  = value...       `count` of them; one fewer after 0x0c and 0x0d, whose count includes the missing slot 0
//   pairs  = count (key value)...                         for 0x0b and 0x0d the count is before the items
//   key    = value, but no nil, NaN, 64-bit integer, tensor or table
//   count  = 0x00..0xdf | 0xe0..0xfe low:u8 (0xe0 + 13 bits) | 0xff u32
//
// All little-endian. Light userdata (0x03..0x05), dictionary tags (0x0e, 0x0f) and all other tags are refused. Pure
// functions, thread-safe; inline, since they read and write each row.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace actorhost {

namespace value_tag {
enum : uint32_t {
  kNil = 0x00,
  kFalse = 0x01,
  kTrue = 0x02,
  kInteger = 0x06,
  kDouble = 0x07,
  kTable = 0x08,     // empty
  kPairs = 0x09,     // tags of tables with pairs are odd
  kItemsAt0 = 0x0a,  // this tag and later tags have items
  kItems = 0x0c,     // from this tag on, the count of items includes the missing slot 0
  kBoth = 0x0d,      // the last table tag
  kSigned = 0x10,
  kUnsigned = 0x11,
  kTensor = 0x12,
  kNone = 0x1f,  // not the tag of a value
  kText = 0x20   // tag of an empty text; add the size for other texts
};
constexpr bool is_table(uint32_t tag) noexcept { return tag >= kTable && tag <= kBoth; }
constexpr bool has_items(uint32_t tag) noexcept { return tag >= kItemsAt0; }
constexpr bool has_pairs(uint32_t tag) noexcept { return (tag & 1U) != 0; }
}  // namespace value_tag

struct TableHead {
  uint32_t tag = 0;
  uint32_t first = 0;  // the key of the first item, 0 or 1
  uint32_t items = 0;
  uint32_t pairs = 0;
};

/// Reads the bytes of values. Each step is checked against the remaining bytes, and returns false if they are too few.
class ValueReader {
 public:
  explicit ValueReader(std::string_view bytes = {}) noexcept : at_(bytes.data()), end_(at_ + bytes.size()) {}

  const char* at() const noexcept { return at_; }
  size_t left() const noexcept { return static_cast<size_t>(end_ - at_); }
  /// The next value's tag, without reading it; kNone at the end. For a text, kText or more.
  uint32_t tag() const noexcept { return at_ != end_ ? static_cast<uint8_t>(*at_) : uint32_t{value_tag::kNone}; }

  bool skip(size_t size) noexcept {
    if (left() < size) return false;
    at_ += size;
    return true;
  }
  template <typename T>
  bool take(T& value) noexcept {
    if (left() < sizeof value) return false;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  /// Reads a tag and the value after it.
  template <typename T>
  bool take_tagged(T& value) noexcept {
    return skip(1) && take(value);
  }
  bool count(uint32_t& value) noexcept {
    uint8_t first = 0;
    if (!take(first)) return false;
    if (first < 0xe0) return value = first, true;
    if (first == 0xff) return take(value);
    uint8_t low = 0;
    if (!take(low)) return false;
    value = 0xe0U + ((first & 0x1fU) << 8) + low;
    return true;
  }
  bool text(std::string_view& text) noexcept {
    uint32_t size = 0;
    if (!count(size) || size < value_tag::kText || size - value_tag::kText > left()) return false;
    text = {at_, size - value_tag::kText};
    at_ += text.size();
    return true;
  }
  /// Reads the head of a table; its items and then its pairs follow.
  bool table(TableHead& head) noexcept {
    head.tag = tag();
    head.first = head.tag >= value_tag::kItems ? 1 : 0;
    head.items = head.pairs = 0;
    if (!value_tag::is_table(head.tag) || !skip(1)) return false;
    if (value_tag::has_items(head.tag)) {
      if (!count(head.items) || head.items < head.first) return false;
      head.items -= head.first;
    }
    return !value_tag::has_pairs(head.tag) || count(head.pairs);
  }

 private:
  const char* at_;
  const char* end_;
};

/// Appends values to a string.
namespace value_writer {

template <typename T>
void tagged(std::string& out, uint32_t tag, T value) {
  char bytes[1 + sizeof value] = {static_cast<char>(tag)};
  std::memcpy(bytes + 1, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

/// Writes a count at `at`; returns its end.
inline char* count(char* at, uint32_t value) noexcept {
  if (value < 0xe0) {
    *at++ = static_cast<char>(value);
  } else if (value < 0x1fe0) {
    *at++ = static_cast<char>(0xe0U | ((value - 0xe0) >> 8));
    *at++ = static_cast<char>(value - 0xe0);
  } else {
    *at++ = '\xff';
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
  return at;
}

inline void nil(std::string& out) { out += static_cast<char>(value_tag::kNil); }
inline void boolean(std::string& out, bool value) {
  out += static_cast<char>(value ? value_tag::kTrue : value_tag::kFalse);
}

inline void number(std::string& out, double value) {
  if (value >= -0x1p31 && value < 0x1p31) {
    const auto whole = static_cast<int32_t>(value);
    if (whole == value && (whole != 0 || !std::signbit(value))) return tagged(out, value_tag::kInteger, whole);
  }
  tagged(out, value_tag::kDouble, value);
}

/// LuaJIT's 64-bit integers, for numbers that a double cannot hold.
inline void whole(std::string& out, int64_t value) { tagged(out, value_tag::kSigned, value); }
inline void natural(std::string& out, uint64_t value) { tagged(out, value_tag::kUnsigned, value); }

/// A reference to tensor `index` of the value's tensors.
inline void tensor(std::string& out, uint32_t index) {
  tagged(out, value_tag::kTensor, std::array<double, 2>{static_cast<double>(index), 0});
}

/// A text; at most 4 GiB.
inline void text(std::string& out, std::string_view value) {
  char head[5];
  out.append(head, count(head, static_cast<uint32_t>(value.size()) + value_tag::kText));
  out += value;
}

/// Begins a table, and returns the argument for end_table. The table's items are written next, then its pairs. Reserves
/// the usual two bytes for the head, whose size is unknown until the end; end_table moves the contents if necessary.
inline size_t begin_table(std::string& out) {
  out.append(2, '\0');
  return out.size() - 2;
}
inline void end_table(std::string& out, size_t begin, uint32_t items, uint32_t pairs) {
  using namespace value_tag;
  char head[11] = {static_cast<char>((items > 0 ? kItems : kTable) | (pairs > 0 ? 1U : 0U))};
  char* end = head + 1;
  if (items > 0) end = count(end, items + 1);  // slot 0 counts
  if (pairs > 0) end = count(end, pairs);
  if (end - head == 2) {
    std::memcpy(out.data() + begin, head, 2);
  } else {
    out.replace(begin, 2, head, static_cast<size_t>(end - head));
  }
}

}  // namespace value_writer

}  // namespace actorhost
