#pragma once
// Virtual time in nanoseconds.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/base/number.hpp"

namespace actorhost::rehearsal {

using Time = uint64_t;
inline constexpr Time kSecond = 1'000'000'000;
/// The time at which a rehearsal starts.
inline constexpr Time kStart = kSecond;
inline Time time_of(double seconds) { return static_cast<Time>(std::llround(seconds * static_cast<double>(kSecond))); }
inline double seconds(Time time) { return static_cast<double>(time) / static_cast<double>(kSecond); }
/// The time in seconds, exactly: "1.000000250".
inline std::string text_of(Time time) {
  std::string fraction = std::to_string(time % kSecond);
  return std::to_string(time / kSecond) + "." + std::string(9 - fraction.size(), '0') + fraction;
}

/// "500ms", "2s", "1min"; a bare unit is one of it. At most 1e9 s.
inline std::optional<Time> time_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"s", 1}};
  for (const auto& [unit, each] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.size());
    const auto value = digits.empty() ? std::optional(1.0) : finite_number(digits);
    if (!value || *value < 0 || *value * each > 1e9) return {};
    return time_of(*value * each);
  }
  return {};
}

}  // namespace actorhost::rehearsal
