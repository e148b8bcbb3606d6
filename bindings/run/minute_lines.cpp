#include "bindings/run/minute_lines.hpp"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"

namespace actorhost {

void MinuteLines::check() {
  const auto status = console_.overdue_status(kQuietMinute);
  if (!status) return;
  if (!status->empty()) return log_.info("", *status);
  if (!summarises_ || !cluster_.is_coordinator()) return;
  const double seconds = clock_.now() - begun_;
  cluster_.request_state(
      {}, [&log = log_, seconds](const std::string& state) { log.info("", summary_of_state(state, seconds)); });
}

std::string summary_of_state(const std::string& state, double seconds) {
  const std::string time = std::to_string(static_cast<int64_t>(seconds / 60)) + " min";
  const auto json = parse_outside_json(state);
  size_t workers = 0;
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (const auto& node : json.is_object() && json.contains("nodes") ? json["nodes"] : nlohmann::json::array()) {
    if (!node.is_object() || node.value("role", "") != "worker") continue;
    ++workers;
    const auto step = node.contains("step") && node["step"].is_number() ? node["step"].get<uint64_t>() : 0;
    least = std::min(least, step);
    most = std::max(most, step);
  }
  const std::string noun = workers == 1 ? " worker" : " workers";
  std::string text = "in progress for " + time + " on " + std::to_string(workers) + noun;
  if (most == 0) return text;
  if (least == most) return text + ", at step " + std::to_string(most);
  return text + ", at steps " + std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace actorhost
