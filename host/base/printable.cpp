#include "host/base/printable.hpp"

#include <algorithm>
#include <cstdio>

namespace actorhost {

namespace {

/// The bytes of the UTF-8 sequence at the start of `text`; 0 for an invalid sequence or a control character.
size_t printed_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t size = first >= 0xc2 && first <= 0xdf   ? 2
                      : first >= 0xe0 && first <= 0xef ? 3
                      : first >= 0xf0 && first <= 0xf4 ? 4
                                                       : 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return first == 0xc2 && byte(1) < 0xa0 ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char first = text.front();
    size_t bytes = printed_bytes(text);
    if (bytes == 0 && lines == Lines::kept && (first == '\n' || first == '\t')) bytes = 1;
    if (bytes > 0) {
      out += text.substr(0, bytes);
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else {
      char shown[8];
      std::snprintf(shown, sizeof shown, "\\x%02x", static_cast<unsigned char>(first));
      out += shown;
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g s", seconds);
  return text;
}

}  // namespace actorhost
