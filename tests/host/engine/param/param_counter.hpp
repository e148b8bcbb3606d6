#pragma once
// Shared by tests with ParamSim runs: a counter that each worker adds to, and a check of its final value.

#include <catch2/catch.hpp>

#include "tests/host/engine/param/param_sim.hpp"

namespace actorhost::test {

inline const ParamKey kW = key_of("w");

inline Tasks fetch_for(const std::vector<NodeId>& ids, const ParamKey& key) {
  Tasks tasks;
  for (const NodeId id : ids) tasks[id].push_back({key, ParamFetch{}, 0});
  return tasks;
}

inline std::vector<float> floats_in(const ParamSim& sim, const ParamKey& key) {
  return values_of(std::get<ParamTensor>(sim.value(key)));
}

/// Each worker adds 1 to the only element.
struct CounterSim : ParamSim {
  explicit CounterSim(SimOptions options = {}) : ParamSim(std::move(options)) {
    set(kW, tensor_of<float>({0}));
    schedule = [](const std::vector<NodeId>& ids) { return fetch_for(ids, kW); };
    work = [](Worker&, const ParamWorker::Task&) { return Entries{{kW, tensor_of<float>({1}), 0}}; };
  }
};

/// Runs to the end; the run must have no error.
inline void run_without_error(ParamSim& sim) {
  const bool ended = sim.run();
  INFO((sim.error ? sim.error->message : std::string()));
  REQUIRE(ended);
  REQUIRE_FALSE(sim.error);
  REQUIRE(sim.summary);
}

}  // namespace actorhost::test
