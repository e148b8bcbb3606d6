#pragma once
// `actorhost agent`: lends this machine's nodes to the jobs at a coordinator's address, one after the other.

#include "bindings/process/run_options.hpp"

namespace actorhost {

/// Joins the run at the endpoint, takes part, and waits for the next run, each time up to the start timeout. Returns
/// the exit code: with `--once` the job's; otherwise 0 after at least one job, 3 without any job, 130 or 143 after a
/// signal.
int run_agent(const RunOptions& options);

}  // namespace actorhost
