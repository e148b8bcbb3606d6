#pragma once
// The flags of `actorhost rehearse` besides those of a run, as plain values.

#include <cstdint>
#include <optional>
#include <string>

namespace actorhost {

struct RehearsalOptions {
  uint32_t hosts = 1;
  std::optional<uint64_t> order;  // the seed of the order of events; no value: the run's seed
  double virtual_seconds = 3600;  // limit of the rehearsal
  double jitter = 300e-6;         // seconds, maximum of the random part of a latency
  uint32_t breaks = 0;            // connections to break
  double break_within = 0.5;      // seconds after the first connection
  bool threads = false;           // tasks are threads, not fibres
  std::string events;             // the file for the trace as text
};

}  // namespace actorhost
