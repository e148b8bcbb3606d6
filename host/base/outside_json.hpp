#pragma once
// Parses and writes JSON with the bytes of other processes and of files. The parser rejects deep nesting, since a
// recursive walk could overflow the stack. Thread-safe.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace actorhost {

/// The value; a discarded value if the text is no JSON or has more than a hundred levels.
inline nlohmann::json parse_outside_json(std::string_view text) {
  using nlohmann::json;
  constexpr int kMostLevels = 100;
  bool deep = false;
  const auto check_depth = [&deep](int depth, json::parse_event_t, const json&) {
    deep = deep || depth > kMostLevels;
    return !deep;
  };
  json value = json::parse(text, check_depth, false);
  return deep ? json(json::value_t::discarded) : value;
}

/// The value as JSON text on one line; replaces invalid UTF-8.
template <typename Json = nlohmann::json>
std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace actorhost
