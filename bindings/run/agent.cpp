#include "bindings/run/agent.hpp"

#include <unistd.h>

#include "bindings/run/host_runtime.hpp"

namespace actorhost {

namespace {

constexpr useconds_t kBetweenJobs = 300000;  // the last job's rendezvous host may still be ending

}  // namespace

int run_agent(const RunOptions& options) {
  for (bool served = false;; served = true) {
    HostRuntime::Setup setup;
    setup.may_find_nobody = served;
    HostRuntime runtime(options, std::move(setup));
    const int code = runtime.run();
    if (runtime.interrupted()) return 130;  // also if the job was over before the signal was seen
    if (code == 130 || options.once) return code;
    if (!runtime.joined()) return served ? 0 : code;
    usleep(kBetweenJobs);
  }
}

}  // namespace actorhost
