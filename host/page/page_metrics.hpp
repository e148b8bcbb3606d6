#pragma once
// The state of a run as Prometheus reads it. Pure, any thread.

#include <string>

#include <nlohmann/json.hpp>

namespace actorhost {

/// The text of /metrics: names with their units, labels node, rank, role and host.
std::string metrics_text(const nlohmann::json& state);

}  // namespace actorhost
