#pragma once
// One row as bytes: a value or a pair of values. README.md of this folder has the grammar. RowReader reads bytes that
// this process or another process has written, and checks every byte: malformed bytes end the reading with `ok() ==
// false`.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace actorhost {

enum class RowTag : uint8_t { nil = 0, no = 1, yes = 2, number = 3, text = 4, value = 5, tuple = 6 };

/// Whether a value of this kind is bytes after a length.
constexpr bool is_bytes(RowTag tag) noexcept { return tag >= RowTag::text; }

inline constexpr uint8_t kPairBit = 0x80;

/// One value of a row, as a view into the bytes. The layout is shared with Lua
/// (bindings/modules/mapreduce/ffi_mapreduce.h).
struct RowValue {
  uint32_t tag = 0;  // RowTag
  uint32_t spare = 0;
  double number = 0;            // of number; 0 and 1 of false and true
  const char* bytes = nullptr;  // of text, value and tuple: the payload after the length
  uint64_t size = 0;

  RowTag kind() const noexcept { return static_cast<RowTag>(tag); }
  std::string_view text() const noexcept { return {bytes, size}; }
};

/// The written form of a number: all NaNs become one NaN.
inline double one_nan(double number) noexcept {
  return number == number ? number : std::bit_cast<double>(uint64_t{0x7ff8000000000000});
}

/// The form of a number as a key: one zero, one NaN.
inline double canonical(double number) noexcept { return number == 0 ? 0 : one_nan(number); }

/// Appends the bytes of values to a string. `pair` marks the first value of a pair.
class RowWriter {
 public:
  explicit RowWriter(std::string& out) : out_(out) {}
  void plain(RowTag tag, bool pair = false) { out_.push_back(tag_byte(tag, pair)); }
  void number(double number, bool pair = false) {
    char bytes[1 + sizeof number] = {tag_byte(RowTag::number, pair)};
    number = one_nan(number);
    std::memcpy(bytes + 1, &number, sizeof number);
    out_.append(bytes, sizeof bytes);
  }
  /// Text, an encoded value, or a tuple.
  void bytes(RowTag tag, std::string_view bytes, bool pair = false) {
    char head[11] = {tag_byte(tag, pair)};
    size_t size = 1;
    for (uint64_t left = bytes.size();; left >>= 7) {
      head[size++] = static_cast<char>(left < 128 ? left : (left & 127) | 128);
      if (left < 128) break;
    }
    out_.append(head, size);
    out_.append(bytes);
  }
  void value(const RowValue& value, bool pair = false) {
    switch (value.kind()) {
      case RowTag::number: return number(value.number, pair);
      case RowTag::text:
      case RowTag::value:
      case RowTag::tuple: return bytes(value.kind(), value.text(), pair);
      default: return plain(value.kind(), pair);
    }
  }

 private:
  static char tag_byte(RowTag tag, bool pair) noexcept {
    return static_cast<char>(static_cast<uint8_t>(tag) | (pair ? kPairBit : 0));
  }

  std::string& out_;
};

/// Reads row after row; views point into the bytes.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes = {}) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  struct Row {
    RowValue first;
    RowValue second;  // of a pair
    bool pair = false;
    const char* begin = nullptr;   // of the row's bytes
    const char* middle = nullptr;  // the start of the second value, or the end
    const char* end = nullptr;

    std::string_view bytes() const noexcept { return {begin, static_cast<size_t>(end - begin)}; }
    /// The bytes of the first value, with its tag and without the pair bit, are key_tag() followed by key_rest(). Used
    /// for comparing and hashing.
    char key_tag() const noexcept { return static_cast<char>(first.tag); }
    std::string_view key_rest() const noexcept { return {begin + 1, static_cast<size_t>(middle - begin - 1)}; }
  };

  /// False at the end and when the bytes are not rows.
  bool next(Row& row) noexcept {
    if (at_ == end_ || !ok_) return false;
    row.begin = at_;
    row.pair = (static_cast<uint8_t>(*at_) & kPairBit) != 0;
    if (!read(row.first)) return false;
    row.middle = at_;
    if (row.pair && (at_ == end_ || !read(row.second))) return ok_ = false;
    row.end = at_;
    return true;
  }
  bool ok() const noexcept { return ok_; }
  size_t left() const noexcept { return static_cast<size_t>(end_ - at_); }

 private:
  bool read(RowValue& value) noexcept {
    value.tag = static_cast<uint8_t>(*at_++) & static_cast<uint8_t>(~kPairBit);
    switch (value.kind()) {
      case RowTag::nil: return true;
      case RowTag::no: value.number = 0; return true;
      case RowTag::yes: value.number = 1; return true;
      case RowTag::number:
        if (left() < sizeof value.number) return ok_ = false;
        std::memcpy(&value.number, at_, sizeof value.number);
        at_ += sizeof value.number;
        return true;
      case RowTag::text:
      case RowTag::value:
      case RowTag::tuple:
        if (!read_size(value.size) || value.size > left()) return ok_ = false;
        value.bytes = at_;
        at_ += value.size;
        return true;
    }
    return ok_ = false;
  }
  bool read_size(uint64_t& size) noexcept {
    size = 0;
    for (unsigned shift = 0; shift < 63 && at_ != end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      size |= uint64_t{byte & 127U} << shift;
      if (byte < 128) return true;
    }
    return false;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace actorhost
