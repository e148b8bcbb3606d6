#pragma once
// Adds a process's sections to the state for observers, beside the counters of its cluster and nodes: its log, series,
// barrier, and on the coordinator the keys.

#include "bindings/process/process_shared.hpp"

namespace actorhost {

/// Called before the nodes start. The sections are read on the cluster's thread, which ends before the arguments do.
void add_sections(Cluster& cluster, const Log& log, ProcessShared& process, const Clock& clock);

}  // namespace actorhost
