#pragma once
// The flags of `actorhost rehearse` besides those of a run, as plain values.

#include <cstdint>
#include <optional>
#include <string>

#include "host/rehearsal/fault_settings.hpp"

namespace actorhost {

struct RehearsalOptions {
  uint32_t hosts = 3;
  std::optional<uint64_t> order;  // the seed of the order of events; no value: the run's seed
  double virtual_seconds = 3600;  // limit of the rehearsal
  double compute = 1;             // factor on the time of computing
  double jitter = 300e-6;         // seconds, maximum of the random part of a latency
  rehearsal::FaultSettings faults;
  bool threads = false;  // tasks are threads, not fibres
  std::string events;    // the file for the trace as text
};

}  // namespace actorhost
