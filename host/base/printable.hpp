#pragma once
// UTF-8 characters in arbitrary bytes. Makes external text safe for a terminal and a log: characters that would move
// the cursor, change a title or start a new line become escapes. Any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actorhost {

/// The number of bytes of the valid UTF-8 character at the front of `text`; 0 if `text` does not start with a
/// character.
inline size_t utf8_size(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto follows = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const uint8_t low = lead == 0xe0 ? 0xa0 : 0x80;   // nothing overlong
    const uint8_t high = lead == 0xed ? 0x9f : 0xbf;  // no surrogates
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const uint8_t low = lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

inline bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

/// Appends the character with this code point, at most 0x10ffff.
inline void append_utf8(std::string& out, uint32_t character) {
  const auto low = [&](unsigned shift) { out += static_cast<char>(0x80 | ((character >> shift) & 0x3f)); };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xc0 | (character >> 6));
    low(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xe0 | (character >> 12));
    low(6);
    low(0);
  } else {
    out += static_cast<char>(0xf0 | (character >> 18));
    low(12);
    low(6);
    low(0);
  }
}

enum class Lines {
  escaped,  // one line: a newline becomes "\n"
  kept,     // newlines and tabs stay, as for a traceback
};

/// `text` with control characters (ASCII and Unicode) and invalid UTF-8 bytes escaped, as in "\x1b". Other text stays
/// as it is, including backslashes, so the result cannot be parsed back.
std::string printable(std::string_view text, Lines lines = Lines::escaped);

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "2.5 s"
std::string seconds_text(double seconds);

}  // namespace actorhost
