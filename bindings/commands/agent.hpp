#pragma once
// `actorhost agent`: lends this machine's nodes to the jobs at a coordinator's address, one after the other. Only the
// main thread calls this function.

#include <string>
#include <vector>

#include "bindings/process/run_options.hpp"

namespace actorhost {

/// Serves jobs and returns the exit code of the process. `args` are all words of its command line.
///
/// Without flags it joins the run at the address, takes part, and waits for the next run, each time up to the start
/// timeout: 0 after at least one job, 3 without any job, 130 or 143 after a signal. With `--once` the code is the
/// job's.
///
/// With `--stay` a child process serves each job, so that no job can end the agent, not even by a crash. The agent
/// waits for jobs without end. It logs the exit code of each job, and once why no job can be joined (another token, a
/// wrong certificate). It returns 130 or 143 after a signal, and 2 if its first child finds wrong flags.
int run_agent(const RunOptions& options, const std::vector<std::string>& args);

}  // namespace actorhost
