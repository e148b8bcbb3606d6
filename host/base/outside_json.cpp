#include "host/base/outside_json.hpp"

#include <nlohmann/json.hpp>

namespace actorhost {

nlohmann::json parse_outside_json(std::string_view text) {
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

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace actorhost
