// Adds this process's sections to the state for observers, beside the counters of its cluster and nodes.

#include <ctime>

#include <nlohmann/json.hpp>

#include "bindings/run/host_runtime.hpp"

namespace actorhost {

/// Called before the nodes start. The functions run on the cluster's thread, which ends before the objects that they
/// use.
void HostRuntime::add_sections() {
  using nlohmann::json;
  ProcessState& state = cluster_->state();
  state.section("log", [this, &state](json& out) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const double begun = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - state.age();
    for (const LogLine& line : log_->newest()) {
      out["log"].push_back(
          {{"t", line.time - begun}, {"level", log_level_name(line.level)}, {"who", line.source}, {"text", line.text}});
    }
  });
  state.section("series", [this, &state](json& out) {
    const double begun = clock_.now() - state.age();
    for (const auto& [name, points] : process_.series.read()) {
      json& rows = out["series"][name];
      for (const SeriesPoint& point : points) {  // a NaN or infinity becomes null
        rows.push_back({{"t", point.time - begun},
                        {"step", point.step},
                        {"id", address_index(point.node)},
                        {"value", point.value}});
        if (is_server(point.node)) rows.back()["role"] = "server";
      }
    }
  });
  state.section("barrier", [this](json& out) { process_.barrier.report(out, clock_.now()); });
  if (!cluster_->is_coordinator()) return;
  state.section("histograms", [this](json& out) { process_.barrier.report_steps(out); });
  state.section("keys", [this](json& out) {
    for (const auto& store : process_.stores) store->list().report(out, store->shard());
  });
}

}  // namespace actorhost
