#include "bindings/run/agent.hpp"

#include <csignal>

#include <unistd.h>

#include "bindings/run/host_runtime.hpp"

namespace actorhost {

namespace {

constexpr useconds_t kBetweenJobs = 300000;  // the last job's coordinator may still be ending

}  // namespace

int run_agent(const RunOptions& options) {
  for (bool served = false;; served = true) {
    HostRuntime::Setup setup;
    setup.may_find_no_run = served;
    HostRuntime runtime(options, std::move(setup));
    const int code = runtime.run();
    if (const int by = runtime.signalled()) return by;  // also if the job ended before the signal was handled
    if (code == 128 + SIGINT || code == 128 + SIGTERM || options.once) return code;
    if (!runtime.joined()) return served ? 0 : code;
    usleep(kBetweenJobs);
  }
}

}  // namespace actorhost
