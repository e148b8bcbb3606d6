#pragma once
// Converts the state of a run to Prometheus' text format. A pure function; thread-safe.

#include <string>

#include <nlohmann/json.hpp>

namespace actorhost {

/// The text of /metrics. Names include their units; labels are node, rank, role and host.
std::string metrics_text(const nlohmann::json& state);

}  // namespace actorhost
