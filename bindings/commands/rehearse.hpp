#pragma once
// `actorhost rehearse`: runs a job on simulated hosts in this process, on virtual time and a network in memory. Each
// host is a HostRuntime with its own task; all other tasks are those of an ordinary run.

#include "bindings/process/run_options.hpp"

namespace actorhost {

/// Runs the job and returns the largest exit code of the hosts that no fault has killed; 98 if the rehearsal's time was
/// over first. `arguments` are main's: the program starts itself again with them, without address randomisation.
int rehearse(const RunOptions& options, char** arguments);

}  // namespace actorhost
