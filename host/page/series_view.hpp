#pragma once
// Thins the series that a job reports, for the page and for recorded states: a few hundred points, for any number of
// nodes and any length. Pure functions; thread-safe.

#include <nlohmann/json.hpp>

namespace actorhost {

/// {"names": {"loss": {"nodes": 2, "lines": {"0": [[step, value], ...], "server 0": ...}}}, "more": names left out}.
/// A series of more than four nodes has the lines "highest", "median" and "lowest" over all nodes instead. A value
/// other than a finite number is null.
nlohmann::json thin_series(const nlohmann::json& series);

}  // namespace actorhost
