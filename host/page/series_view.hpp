#pragma once
// The series that a job reports, as the page and recorded states have them: a few hundred points, however many nodes
// report and however long. Pure functions, any thread.

#include <nlohmann/json.hpp>

namespace actorhost {

/// {"names": {"loss": {"nodes": 2, "lines": {"0": [[step, value], ...], "server 0": ...}}}, "more": names left out}.
/// Of more than four nodes there are the lines "highest", "median" and "lowest" over all of them. A value that is no
/// finite number is null.
nlohmann::json thin_series(const nlohmann::json& series);

}  // namespace actorhost
