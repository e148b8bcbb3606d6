#include "bindings/run/report_sections.hpp"

#include <ctime>

#include <nlohmann/json.hpp>

namespace actorhost {

void add_sections(Cluster& cluster, const Log& log, ProcessShared& process, const Clock& clock) {
  using nlohmann::json;
  ProcessState& state = cluster.state();
  state.section("log", [&](json& out) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const double begun = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - state.age();
    for (const LogLine& line : log.newest()) {
      out["log"].push_back(
          {{"t", line.time - begun}, {"level", log_level_name(line.level)}, {"who", line.source}, {"text", line.text}});
    }
  });
  state.section("series", [&](json& out) {
    const double begun = clock.now() - state.age();
    for (const auto& [name, points] : process.series.read()) {
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
  state.section("barrier", [&](json& out) { process.barrier.report(out, clock.now()); });
  if (!cluster.is_coordinator()) return;
  state.section("histograms", [&](json& out) { process.barrier.report_steps(out); });
  state.section("keys", [&](json& out) {
    for (const auto& store : process.stores) store->list().report(out, store->shard());
  });
}

}  // namespace actorhost
