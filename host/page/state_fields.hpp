#pragma once
// Reads fields of a state: JSON that came over a network or from a file, so each field may be absent or of another type
// than it should be. Any thread.

#include <cmath>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace actorhost {

/// The field, or null. The reference is good as long as `object` is.
inline const nlohmann::json& field(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNothing;
  const auto at = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && at != object.end() ? *at : kNothing;
}

/// The array of that name, or an empty one.
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

/// As JSON text on one line; bytes that are no UTF-8 are replaced.
inline std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace actorhost
