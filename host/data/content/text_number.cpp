#include "host/data/content/text_number.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace actorhost {

namespace {

/// Integers up to this value are exact.
template <typename T>
constexpr T kExact = static_cast<T>(int64_t{1} << std::numeric_limits<T>::digits);

template <typename T>
constexpr const char* kName = std::is_same_v<T, float> ? "float32" : "float64";

/// All digits of a value of at least kExact, which is an integer.
template <typename T>
std::string_view digits_of(T value, std::array<char, 320>& room) noexcept {
  const auto [end, error] =
      std::to_chars(room.data(), room.data() + room.size(), std::fabs(value), std::chars_format::fixed, 0);
  return {room.data(), static_cast<size_t>(end - room.data())};
}

/// The digits before the decimal point of a number beyond kExact, after its exponent is applied; empty if `text` does
/// not spell all of them, as in "1.7e9".
std::string_view written_digits(std::string_view text, std::array<char, 320>& room) noexcept {
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  int before_point = 0;
  if (mantissa.size() < text.size()) {
    std::string_view exponent = text.substr(mantissa.size() + 1);
    if (exponent[0] == '+') exponent.remove_prefix(1);
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), before_point);
  }
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  size_t size = 0;
  for (size_t i = 0; i < mantissa.size(); ++i) {
    if (mantissa[i] < '0' || mantissa[i] > '9') continue;
    const bool leads = size == 0 && mantissa[i] == '0';
    before_point += static_cast<int>(i < point) - static_cast<int>(leads);
    if (!leads && size < room.size()) room[size++] = mantissa[i];
  }
  const auto wanted = static_cast<size_t>(before_point);
  return {room.data(), wanted <= size ? wanted : 0};
}

/// Whether `value`, parsed from `text`, has the same digits before its point.
template <typename T>
bool keeps_digits(std::string_view text, T value) noexcept {
  if (!std::isfinite(value)) return true;
  std::array<char, 320> room;
  std::array<char, 320> value_room;
  const std::string_view digits = written_digits(text, room);
  return digits.empty() || digits == digits_of(value, value_room);
}

}  // namespace

template <typename T>
NumberFault parse_number(std::string_view text, T& value) noexcept {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto fast = std::from_chars(text.data(), end, value);
  if (fast.ec == std::errc() && fast.ptr == end) {
    return std::fabs(value) < kExact<T> || keeps_digits(text, value) ? NumberFault::none : NumberFault::inexact;
  }
  if (fast.ec != std::errc::result_out_of_range || fast.ptr != end) return NumberFault::no_number;
  double wide = 0;  // distinguishes underflow from overflow
  const auto slow = std::from_chars(text.data(), end, wide);
  const size_t exponent = text.find_first_of("eE");
  const bool tiny = slow.ec == std::errc() ? std::fabs(wide) < 1
                                           : exponent != std::string_view::npos && text.substr(exponent + 1, 1) == "-";
  if (!tiny) return NumberFault::too_large;
  value = slow.ec == std::errc() ? static_cast<T>(wide) : T{0};
  return NumberFault::none;
}

template <typename T>
std::string number_fault_text(std::string_view text, NumberFault fault) {
  const std::string advice = std::is_same_v<T, float> ? "; use dtype = \"float64\"" : "";
  const std::string shown = quoted_text(text);
  if (fault == NumberFault::too_large) return shown + " is too large for " + kName<T> + advice;
  if (fault != NumberFault::inexact) return shown + " is not a number";
  T value = 0;
  parse_number(text, value);
  std::array<char, 320> room;
  return shown + " would become " + (value < 0 ? "-" : "") + std::string(digits_of(value, room)) + " in " + kName<T> +
         advice;
}

template NumberFault parse_number(std::string_view text, float& value) noexcept;
template NumberFault parse_number(std::string_view text, double& value) noexcept;
template std::string number_fault_text<float>(std::string_view text, NumberFault fault);
template std::string number_fault_text<double>(std::string_view text, NumberFault fault);

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
