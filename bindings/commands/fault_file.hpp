#pragma once
// Faults of a rehearsal from a file in Lua. The file returns a function of `world`, which has `hosts` (their number),
// `seed`, `world:at(seconds, kind, hosts [, lasts])` and `world:restart(seconds)`, the time until a killed host starts
// again:
//
//     return function(world)
//       world:restart(0.3)
//       world:at(0.5, "kill", 2)
//       world:at(1, "partition", { 0, 1 }, 3)
//     end

#include "bindings/process/run_options.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// Adds the faults of the file of --faults, if any. Code::bad_argument has the line of a wrong call; Code::io without
/// the file.
Status read_fault_file(RunOptions& options);

}  // namespace actorhost
