// A process that is killed at a random moment: all who live on see the same end of every call, and nobody mixes rounds,
// waits for ever or is accused of other calls. ACTORHOST_TEST_KILLS=1000 kills that often at each size.

#include <csignal>
#include <cstdlib>
#include <regex>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

size_t kills() {
  const char* times = std::getenv("ACTORHOST_TEST_KILLS");
  return times == nullptr ? 1 : std::strtoull(times, nullptr, 10);
}

/// What the runs of a test have seen, for whoever looks for rare events.
struct Seen {
  size_t told = 0;    // runs in which a call failed
  size_t silent = 0;  // killed where no call noticed
};

/// The processes of the workers of these runs, by id.
std::map<std::string, pid_t> workers_of(const std::string& log) {
  std::map<std::string, pid_t> found;
  static const std::regex line("worker (\\d+) in process (\\d+)\\.");
  for (std::sregex_iterator at(log.begin(), log.end(), line), end; at != end; ++at) {
    found[(*at)[1]] = static_cast<pid_t>(std::stol((*at)[2]));
  }
  return found;
}

/// What the survivors say of their calls; each line once.
void check_ends(const std::string& log, size_t survivors, Seen& seen) {
  static const std::regex line("worker (\\d+) made (\\d+ calls, failed: \\[[^\\]]*\\])");
  std::set<std::string> ends;
  size_t count = 0;
  for (std::sregex_iterator at(log.begin(), log.end(), line), end; at != end; ++at, ++count) ends.insert((*at)[2]);
  CHECK(count == survivors);
  CHECK(ends.size() == 1);
  CHECK(log.find("wait for each other") == std::string::npos);
  ++(ends.empty() || ends.begin()->find("[]") != std::string::npos ? seen.silent : seen.told);
}

void kill_one_of_isolated(const JobFolder& folder, const Words& job, Rng& rng, Seen& seen) {
  Process run = folder.start(with({"-n", "3", "--isolate"}, job));
  REQUIRE(run.wait_for_match("worker 0 in process (\\d+)\\.", 30));
  REQUIRE(run.wait_for_match("worker 1 in process (\\d+)\\.", 30));
  REQUIRE(run.wait_for_match("worker 2 in process (\\d+)\\.", 30));
  const std::string victim = std::to_string(rng.below(3));
  std::this_thread::sleep_for(std::chrono::duration<double>(rng.uniform() * 0.2));  // the moment is what is random
  ::kill(workers_of(run.err()).at(victim), SIGKILL);
  const auto status = run.wait(60);
  INFO("worker " << victim << " was killed\n" << run.describe());
  CHECK(status == 0);
  check_ends(run.err(), 2, seen);
}

void kill_one_of_hosts(const JobFolder& folder, const Words& job, Rng& rng, Seen& seen) {
  Hosts hosts(folder, 3, with({"-n", "1"}, job));
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_match("worker \\d+ in process (\\d+)\\.", 30));
  const size_t victim = 1 + rng.below(2);
  std::this_thread::sleep_for(std::chrono::duration<double>(rng.uniform() * 0.2));
  hosts[victim].signal(SIGKILL);
  const auto codes = hosts.wait(60);
  INFO("host " << victim << " was killed\n" << hosts.describe());
  for (size_t host = 0; host < 3; ++host) CHECK((host == victim || codes[host] == 0));
  check_ends(hosts.err(), 2, seen);
}

}  // namespace

TEST_CASE("a process is killed at a random moment: the others see the same end of every call") {
  const auto [kind, elements] = GENERATE(table<std::string, std::string>({{"allreduce", "2"},
                                                                          {"allreduce", "300"},
                                                                          {"allreduce", "300000"},
                                                                          {"reproducible", "300000"},
                                                                          {"allreduce", "4000000"},
                                                                          {"alltoall", "10"},
                                                                          {"alltoall", "100000"},
                                                                          {"table", "100"},
                                                                          {"rotator", "1000"}}));
  const JobFolder folder;
  const std::string job = (source_dir() / "tests/integration/kills.lua").string();
  const char* given = std::getenv("ACTORHOST_TEST_SEED");
  const uint64_t seed =
      given == nullptr ? std::hash<std::string>{}(kind + elements) : std::strtoull(given, nullptr, 10);
  Rng rng(seed);
  Seen seen;
  for (size_t run = 0; run < kills(); ++run) {
    INFO(kind << " of " << elements << ", seed " << seed << ", run " << run);
    const Words words = {job, kind, elements, elements.size() > 6 ? "1" : "0.3"};
    rng.below(3) > 0 ? kill_one_of_isolated(folder, words, rng, seen) : kill_one_of_hosts(folder, words, rng, seen);
  }
  if (kills() > 1) WARN(kind << " of " << elements << ": told " << seen.told << ", unnoticed " << seen.silent);
}
