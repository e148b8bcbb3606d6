// A process killed or a link cut at a random moment: all survivors see the same end of every call. No survivor mixes
// rounds, waits forever or reports a mismatch. ACTORHOST_TEST_KILLS=1000 sets the number of kills.

#include <regex>

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

size_t kills() { return number_of("ACTORHOST_TEST_KILLS", 1); }

/// The process ids of the workers of a run, by worker id.
std::map<std::string, pid_t> workers_of(const std::string& log) {
  std::map<std::string, pid_t> found;
  static const std::regex line("worker (\\d+) in process (\\d+)\\.");
  for (std::sregex_iterator at(log.begin(), log.end(), line), end; at != end; ++at) {
    found[(*at)[1]] = static_cast<pid_t>(std::stol((*at)[2]));
  }
  return found;
}

/// Kills a worker of a job of `count` at a random moment, while all make calls, which continue until they have seen the
/// loss. Never kills one of the first `spared` workers.
std::string kill_one(const std::string& log, size_t count, size_t spared, Rng& rng) {
  const auto workers = workers_of(log);
  REQUIRE(workers.size() == count);
  std::string victim = std::to_string(spared + rng.below(count - spared));
  std::this_thread::sleep_for(std::chrono::duration<double>(rng.uniform() * 0.2));  // a random moment
  ::kill(workers.at(victim), SIGKILL);
  return victim;
}

/// Checks the survivors' reports, one line each: the same number of calls, and the same failed calls.
void check_ends(const std::string& log, size_t survivors) {
  static const std::regex line("worker (\\d+) made (\\d+ calls, failed: \\[[^\\]]*\\])");
  std::set<std::string> ends;
  size_t count = 0;
  for (std::sregex_iterator at(log.begin(), log.end(), line), end; at != end; ++at, ++count) ends.insert((*at)[2]);
  CHECK(count == survivors);
  CHECK(ends.size() == 1);
  CHECK(log.find("wait for each other") == std::string::npos);
}

void kill_one_of_isolated(const JobFolder& folder, const Words& job, Rng& rng) {
  Process run = folder.start(with({"-n", "3", "--isolate"}, job));
  for (const char* id : {"0", "1", "2"}) {
    INFO(run.describe());
    REQUIRE(run.wait_for_match("worker " + std::string(id) + " in process (\\d+)\\.", 30));
  }
  const std::string victim = kill_one(run.err(), 3, 0, rng);
  const auto status = run.wait(60);
  INFO("worker " << victim << " was killed\n" << run.describe());
  CHECK(status == 0);
  check_ends(run.err(), 2);
}

/// Hosts over TCP, each with one worker in its own process. The first host is the coordinator, so it is spared.
void kill_one_host(const JobFolder& folder, const Words& job, Rng& rng) {
  Hosts hosts(folder, 3, with({"-n", "1"}, job));
  for (size_t host = 0; host < 3; ++host) {
    INFO(hosts.describe());
    REQUIRE(hosts[host].wait_for_match("worker \\d+ in process (\\d+)\\.", 30));
  }
  const std::string victim = kill_one(hosts.err(), 3, 1, rng);
  const auto codes = hosts.wait(60);
  INFO("worker " << victim << " was killed\n" << hosts.describe());
  CHECK(std::count(codes.begin(), codes.end(), 0) == 2);
  check_ends(hosts.err(), 2);
}

/// Hosts over TCP whose workers have their own processes, so that rank 0 can be lost as well.
void kill_one_of_isolated_hosts(const JobFolder& folder, const Words& job, Rng& rng) {
  Hosts hosts(folder, 2, with({"-n", "2", "--isolate"}, job));
  for (size_t host = 0; host < 2; ++host) {
    INFO(hosts.describe());
    REQUIRE(hosts[host].wait_for_match("worker \\d+ in process [^]*worker \\d+ in process (\\d+)\\.", 30));
  }
  const std::string victim = kill_one(hosts.err(), 4, 0, rng);
  const auto codes = hosts.wait(60);
  INFO("worker " << victim << " was killed\n" << hosts.describe());
  CHECK(codes == std::vector<int>{0, 0});
  check_ends(hosts.err(), 3);
}

uint64_t seed_of(const std::string& otherwise) {
  return number_of("ACTORHOST_TEST_SEED", std::hash<std::string>{}(otherwise));
}

/// Cuts a link between two workers; the others then see the loss of the worker that joined later.
void cut_off(const std::string& what, const Words& job, Rng& rng) {
  const JobFolder folder;
  const std::string script = (source_dir() / "tests/integration/cut_off.sh").string();
  Process run("unshare", with(with(kOwnNetwork, {"sh", script, actorhost_binary()}), job), folder.options());
  for (const char* id : {"0", "1", "2"}) {
    INFO(run.describe());
    REQUIRE(run.wait_for_match("worker " + std::string(id) + " in process (\\d+)\\.", 30));
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(rng.uniform() * 0.2));  // a random moment
  std::ofstream(folder.path() / "cut") << what << std::endl;
  const auto status = run.wait(60);
  INFO(what << " was cut off\n" << run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), "ended with 0.") == 2);
  check_ends(run.err(), 2);
}

}  // namespace

TEST_CASE("when a process is killed at a random moment, the others see the same end of every call") {
  const auto [kind, elements] = GENERATE(table<std::string, std::string>({{"allreduce", "1"},
                                                                          {"allreduce", "300"},
                                                                          {"allreduce", "300000"},
                                                                          {"reproducible", "300000"},
                                                                          {"allreduce", "4000000"},
                                                                          {"alltoall", "10"},
                                                                          {"alltoall", "100000"},
                                                                          {"table", "100"},
                                                                          {"rotator", "1000"}}));
  const JobFolder folder;
  const std::string job = (source_dir() / "tests/integration/jobs/kills.lua").string();
  const uint64_t seed = seed_of(kind + elements);
  Rng rng(seed);
  for (size_t run = 0; run < kills(); ++run) {
    INFO(kind << " of " << elements << ", seed " << seed << ", run " << run);
    const Words words = {job, kind, elements};
    static const std::array kPlaces = {kill_one_of_isolated, kill_one_host, kill_one_of_isolated_hosts};
    kPlaces.at(rng.below(kPlaces.size()))(folder, words, rng);
  }
}

TEST_CASE("when a link is cut at a random moment, the others see the same end of every call") {
  if (!networks_can_be_made()) {
    WARN("test-skipped: network namespaces cannot be made here (that needs root, ip, bridge and unshare)");
    return;
  }
  struct Cut {
    std::string what, kind, elements;
  };
  // Small data passes through the leader alone, so the loss of the link between the two other hosts has no effect on
  // it.
  static const std::array<Cut, 9> kCuts = {{{"1", "allreduce", "1"},
                                            {"2", "allreduce", "1"},
                                            {"2", "allreduce", "300000"},
                                            {"1", "alltoall", "10"},
                                            {"1", "table", "100"},
                                            {"1", "rotator", "1000"},
                                            {"2", "rotator", "1000"},
                                            {"pair", "allreduce", "300000"},
                                            {"pair", "alltoall", "100000"}}};
  const uint64_t seed = seed_of("cuts");
  Rng rng(seed);
  for (size_t run = 0; run < kills(); ++run) {
    const Cut& cut = kCuts.at(rng.below(kCuts.size()));
    INFO(cut.kind << " of " << cut.elements << ", seed " << seed << ", run " << run);
    cut_off(cut.what, {(source_dir() / "tests/integration/jobs/kills.lua").string(), cut.kind, cut.elements}, rng);
  }
}
