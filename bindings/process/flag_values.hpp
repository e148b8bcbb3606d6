#pragma once
// Helpers of the parsers of flags.

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "host/base/result.hpp"

namespace actorhost {

/// The number that the whole text is.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "--seed wants a whole number, got 'x'".
inline Error bad_flag(const std::string& flag, const std::string& value, const std::string& wants) {
  return {Code::bad_argument, "--" + flag + " wants " + wants + ", got '" + value + "'"};
}

/// Both spellings of a flag: "--node-rank" and "--node_rank".
inline std::string both_spellings(const std::string& name) {
  std::string other = name;
  const size_t first = other.find("--") + 2;
  for (size_t i = first; i < other.size() && other[i] != ','; ++i) {
    if (other[i] == '-') other[i] = '_';
  }
  return other == name ? name : name + "," + other.substr(first - 2);
}

}  // namespace actorhost
