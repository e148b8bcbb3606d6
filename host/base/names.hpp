#pragma once
// The names of an enumeration's values, in a table with the order of the values. Pure functions; thread-safe.

#include <array>
#include <cstddef>
#include <string_view>

namespace actorhost {

/// The name of a value; the last name for a number that is no value.
template <typename Enum, size_t n>
constexpr const char* name_of(const std::array<const char*, n>& names, Enum value) noexcept {
  const auto index = static_cast<size_t>(value);
  return names[index < n ? index : n - 1];
}

/// Sets `value` to the value with this name; false for an unknown name.
template <typename Enum, size_t n>
constexpr bool find_name(const std::array<const char*, n>& names, std::string_view name, Enum& value) noexcept {
  for (size_t i = 0; i < n; ++i) {
    if (name != names[i]) continue;
    value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

}  // namespace actorhost
