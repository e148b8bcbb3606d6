#include "host/data/matrix.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace actorhost {

NumberFault parse_float(std::string_view text, float& value) noexcept {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto fast = std::from_chars(text.data(), end, value);
  if (fast.ec == std::errc() && fast.ptr == end) return NumberFault::none;
  if (fast.ec != std::errc::result_out_of_range || fast.ptr != end) return NumberFault::no_number;
  double wide = 0;  // tells what is too small from what is too large
  const auto slow = std::from_chars(text.data(), end, wide);
  const size_t exponent = text.find_first_of("eE");
  const bool tiny = slow.ec == std::errc() ? std::fabs(wide) < 1
                                           : exponent != std::string_view::npos && text.substr(exponent + 1, 1) == "-";
  if (!tiny) return NumberFault::too_large;
  value = slow.ec == std::errc() ? static_cast<float>(wide) : 0.0F;
  return NumberFault::none;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string quoted_text(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out = "'";
  for (char c : text.substr(0, kMost)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return out + (text.size() > kMost ? "...'" : "'");
}

}  // namespace actorhost
