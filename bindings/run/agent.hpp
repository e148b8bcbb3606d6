#pragma once
// `actorhost agent`: lends this machine's nodes to one job after the other at a rendezvous, until none comes any more.

#include "bindings/process/run_options.hpp"

namespace actorhost {

/// Joins the run at the endpoint, whichever it is, takes part, and waits for the next one, each time for up to the
/// start timeout. Returns the exit code: of the job with `--once`, 0 when at least one job was served, 3 when none ever
/// came, 130 or 143 after a signal.
int run_agent(const RunOptions& options);

}  // namespace actorhost
