#pragma once
// The flags of `actorhost rehearse` besides those of a run, as plain values.

#include <cstdint>
#include <optional>
#include <string>

#include "host/rehearsal/fault_settings.hpp"
#include "host/rehearsal/network_shape.hpp"
#include "host/sim/scenario.hpp"

namespace actorhost {

struct RehearsalOptions {
  uint32_t hosts = 3;
  std::optional<uint64_t> order;  // the seed of the order of events; no value: the run's seed
  double virtual_seconds = 3600;  // limit of the rehearsal
  double compute = 1;             // factor on the time of computing
  rehearsal::NetworkShape network;
  Stragglers stragglers;  // hosts that compute slowly
  rehearsal::FaultSettings faults;
  std::string fault_file;   // in Lua, with further faults
  bool threads = false;     // tasks are threads, not fibres
  std::string events;       // the file for the trace as text
  std::string save_faults;  // the file for the faults that happened
  std::string chart;        // the file for the picture of the last messages
  struct Search {
    uint64_t first = 1, last = 1;  // seeds
    uint32_t jobs = 1;             // processes at a time
    std::string codes = "0";       // exit codes of success, separated by commas
    bool shrink = false;
  };
  std::optional<Search> search;
};

}  // namespace actorhost
