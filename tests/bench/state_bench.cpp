// Latency of a state request by a status client, on three hosts, while every node is inside kernels of about two
// seconds and while every node waits. Also counts the nodes without a report, whose report missed the coordinator's
// deadline.
// Usage: state_bench [requests]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/cluster/look/control_client.hpp"
#include "tests/integration/process.hpp"

namespace {

using namespace actorhost;

using Hosts = std::vector<std::unique_ptr<Process>>;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "state_bench: %s\n", what.c_str());
  std::exit(1);
}

Hosts start(const std::string& endpoint, const std::string& job) {
  Hosts hosts;
  for (const char* rank : {"0", "1", "2"}) {
    hosts.push_back(std::make_unique<Process>(
        actorhost_binary(), std::vector<std::string>{"-n", "1", "--nnodes", "3", "--node-rank", rank, "--rdzv-endpoint",
                                                     endpoint, "--insecure", "--log-level", "warn",
                                                     (source_dir() / "tests/bench/host_jobs.lua").string(), job}));
  }
  return hosts;
}

nlohmann::json request_state(ControlClient& client) {
  const auto state = client.state({}, 30);
  if (!state) die(state.error().message);
  return nlohmann::json::parse(*state);
}

bool all_are(const nlohmann::json& state, const char* doing) {
  const auto& nodes = state["nodes"];
  return nodes.size() == 3 &&
         std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node["state"] == doing; });
}

/// Polls until the condition holds, for a minute at most.
template <typename Holds>
void await(const char* what, const Holds& holds) {
  for (int tries = 0; !holds(); ++tries) {
    if (tries == 600) die(std::string("timed out waiting for ") + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void measure(const std::string& job, const char* doing, int requests) {
  const FreePort port;
  const Hosts hosts = start(port.endpoint(), job);
  const SteadyClock clock;
  Log log(LogLevel::off);
  ControlClient client({}, clock, log, {});
  await("the run", [&] { return client.attach("tcp://" + port.endpoint(), 5).ok(); });
  await(doing, [&] { return all_are(request_state(client), doing); });
  std::vector<double> took;
  int missing = 0;
  for (int i = 0; i < requests; ++i) {
    const double begun = clock.now();
    const auto state = request_state(client);
    took.push_back(1e3 * (clock.now() - begun));
    for (const auto& node : state["nodes"]) missing += node["state"] == "silent" ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(37));
  }
  std::sort(took.begin(), took.end());
  std::printf("%-10s median %6.2f ms, longest %6.2f ms of %d requests; %d nodes without a report\n", doing,
              took[took.size() / 2], took.back(), requests, missing);
}

}  // namespace

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 100;
  measure("kernels", "computing", requests);
  measure("asleep", "waiting", requests);
  return 0;
}
