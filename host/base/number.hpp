#pragma once
// Numbers in flags and specifications, independent of the locale.

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace actorhost {

/// The number that the whole text is. T is an integer type or double, which may be infinite or NaN.
template <typename T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline std::optional<double> finite_number(std::string_view text) {
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace actorhost
