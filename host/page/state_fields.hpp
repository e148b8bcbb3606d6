#pragma once
// Reads fields of a state. A state is JSON from a network or a file, so each field may be missing or of a wrong type.
// Thread-safe.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace actorhost {

inline constexpr size_t kShownTextBytes = 120;  // of a log line, a reason, a place

/// The field, or null. The reference is valid as long as `object` is.
inline const nlohmann::json& field(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNothing;
  const auto at = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && at != object.end() ? *at : kNothing;
}

/// The array with that name, or an empty array.
inline const nlohmann::json& list(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kEmpty = nlohmann::json::array();
  const nlohmann::json& found = field(object, name);
  return found.is_array() ? found : kEmpty;
}

inline double number(const nlohmann::json& object, const char* name, double otherwise = 0) {
  const nlohmann::json& found = field(object, name);
  return found.is_number() ? found.get<double>() : otherwise;
}

inline std::string text(const nlohmann::json& object, const char* name) {
  const nlohmann::json& found = field(object, name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

inline bool flag(const nlohmann::json& object, const char* name) {
  const nlohmann::json& found = field(object, name);
  return found.is_boolean() && found.get<bool>();
}

/// Four significant digits: enough for a chart, and a third of the bytes.
inline nlohmann::json rounded(const nlohmann::json& value) {
  if (!value.is_number_float()) return value;
  if (!std::isfinite(value.get<double>())) return nlohmann::json();
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.4g", value.get<double>());
  const double near = std::strtod(digits.data(), nullptr);
  const bool whole = std::abs(near) < 1e15 && near == std::floor(near);
  return whole ? nlohmann::json(static_cast<int64_t>(near)) : nlohmann::json(near);
}

/// A whole number as it is, another number with four digits.
inline nlohmann::json rounded_count(double value) {
  constexpr double kMost = 1e15;
  if (std::abs(value) < kMost && value == std::floor(value)) return static_cast<int64_t>(value);
  return rounded(value);
}

/// A time in seconds with two decimals.
inline nlohmann::json rounded_time(double seconds) { return std::round(100 * seconds) / 100; }

/// Cuts a long text between two characters.
inline std::string cut(std::string text) {
  if (text.size() <= kShownTextBytes) return text;
  size_t end = kShownTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

}  // namespace actorhost
