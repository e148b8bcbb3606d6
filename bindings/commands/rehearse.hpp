#pragma once
// `actorhost rehearse`: runs a job on simulated hosts in this process, on virtual time and a network in memory. Each
// host is a HostRuntime with its own task; all other tasks are those of an ordinary run.

#include "bindings/process/run_options.hpp"

namespace actorhost {

/// Starts the program again with `arguments`, which are main's, unless its addresses are fixed: Lua iterates over
/// tables with functions as keys in their order. The programs that it starts have fixed addresses too.
void fix_addresses(char** arguments);
/// Runs the job and returns the largest exit code of the hosts that no fault has killed; 98 if the rehearsal's time was
/// over first. Expects fixed addresses.
int rehearse(const RunOptions& options);

}  // namespace actorhost
