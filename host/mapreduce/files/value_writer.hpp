#pragma once
// Writes Lua values as the codec does (host/wire/value_check.hpp has the encoding), without Lua: what readers of text
// make rows of. A table is begun by remembering the size of the bytes, its items or pairs are written, and its head is
// put before them when their number is known. Pure functions, any thread.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace actorhost::value_writer {

template <typename T>
void raw(std::string& out, char tag, T value) {
  char bytes[1 + sizeof value] = {tag};
  std::memcpy(bytes + 1, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

inline void count(std::string& out, uint64_t value) {
  if (value < 0xe0) {
    out += static_cast<char>(value);
  } else if (value < 0x1fe0) {
    out += static_cast<char>(0xe0 | ((value - 0xe0) >> 8));
    out += static_cast<char>(value - 0xe0);
  } else {
    raw(out, '\xff', static_cast<uint32_t>(value));
  }
}

inline void nil(std::string& out) { out += '\x00'; }
inline void boolean(std::string& out, bool value) { out += value ? '\x02' : '\x01'; }

inline void number(std::string& out, double value) {
  const bool is_small = value >= -0x1p31 && value < 0x1p31 && value == std::floor(value);
  if (is_small && !(value == 0 && std::signbit(value))) {
    raw(out, '\x06', static_cast<int32_t>(value));
  } else {
    raw(out, '\x07', value);
  }
}

/// Whole numbers that a double does not hold: LuaJIT's 64-bit integers.
inline void whole(std::string& out, int64_t value) { raw(out, '\x10', value); }
inline void natural(std::string& out, uint64_t value) { raw(out, '\x11', value); }

/// A text; at most 4 GiB.
inline void text(std::string& out, std::string_view value) {
  count(out, value.size() + 0x20);
  out += value;
}

/// The items, or pairs of key and value, that `out` has from `begin` on become a table.
inline void end_array(std::string& out, size_t begin, uint64_t items) {
  std::string head(1, items == 0 ? '\x08' : '\x0c');
  if (items > 0) count(head, items + 1);
  out.insert(begin, head);
}
inline void end_pairs(std::string& out, size_t begin, uint64_t pairs) {
  std::string head(1, pairs == 0 ? '\x08' : '\x09');
  if (pairs > 0) count(head, pairs);
  out.insert(begin, head);
}

}  // namespace actorhost::value_writer
