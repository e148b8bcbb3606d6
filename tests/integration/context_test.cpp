// The one table of callbacks that param.run and peer.run take: ctx in every callback, keys divided by ctx.owns, options
// that peers refuse, and training that outlives a host or a link.

#include <chrono>
#include <regex>

#include "host/base/random.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

std::string any_engine() { return GENERATE(as<std::string>(), "param", "peer"); }

/// Checks the distance to the true weights that each survivor of examples/peer_sgd.lua logs.
void check_weights(const std::string& log, size_t survivors) {
  static const std::regex line("distance to the true weights: ([0-9.]+)");
  size_t count = 0;
  for (std::sregex_iterator at(log.begin(), log.end(), line), end; at != end; ++at, ++count) {
    CHECK(std::stod((*at)[1]) < 0.06);
  }
  CHECK(count == survivors);
}

Words training() {
  return {(source_dir() / "tests/integration/jobs/context_blocks.lua").string(),
          (source_dir() / "examples/peer_sgd.lua").string(), "--steps=400"};
}

void sleep_at_most(double seconds, Rng& rng) {
  std::this_thread::sleep_for(std::chrono::duration<double>(rng.uniform() * seconds));
}

}  // namespace

TEST_CASE("after the loss of a worker the ctx of the others has the new size, and they own its keys") {
  const std::string engine = any_engine();
  for (const std::string step : {"0", "7"}) {
    const JobFolder folder;
    Hosts hosts(folder, 4, {"-n", "1", "jobs/context.lua", engine, "loses", step});
    const std::vector<int> codes = hosts.wait(60);
    INFO(hosts.describe());
    CHECK(std::count(codes.begin(), codes.end(), 0) == 3);
    CHECK(count_of(hosts.err(), "24 of 24 keys have an owner.") == 3);
  }
}

TEST_CASE("errors of both engines name the user's function") {
  const std::string engine = any_engine();
  const Ended wrong(JobFolder().run({"-n", "2", "jobs/context.lua", engine, "original", "wrong"}), 1);
  CHECK_THAT(wrong.err,
             Contains("push (" + place_in("context.lua", "register_push") + "): expected {{key, value}, ...}"));
}

TEST_CASE("peers train all blocks of a model although a host is killed at a random moment") {
  const uint64_t seed = std::stoull(any_seed());
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::string barrier : {"bsp", "asp"}) {
    const JobFolder folder;
    Hosts hosts(folder, 4, with({"-n", "1", "--barrier", barrier}, training()));
    const size_t victim = rng.below(4);
    REQUIRE(hosts[victim].wait_for_match("worker \\d+ in process (\\d+)\\.", 30));
    // Before a host knows that the workers are peers, it ends with the coordinator.
    for (size_t host = 0; host < 4; ++host) REQUIRE(hosts[host].wait_for_output("outlives its", 30));
    sleep_at_most(0.5, rng);
    ::kill(process_of(hosts[victim], "worker \\d+"), SIGKILL);
    const std::vector<int> codes = hosts.wait(60);
    INFO("host " << victim << " was killed, " << barrier << "\n" << hosts.describe());
    CHECK(std::count(codes.begin(), codes.end(), 0) == 3);
    check_weights(hosts.err(), 3);
  }
}

TEST_CASE("peers train all blocks of a model although a link is cut at a random moment") {
  if (!networks_can_be_made()) {
    WARN("test-skipped: network namespaces cannot be made here (that needs root, ip, bridge and unshare)");
    return;
  }
  const uint64_t seed = std::stoull(any_seed());
  INFO("seed " << seed);
  Rng rng(seed);
  const std::string kinds[] = {"0", "1", "2", "pair"};
  const std::string what = kinds[rng.below(4)];
  const JobFolder folder;
  const std::string script = (source_dir() / "tests/integration/cut_off.sh").string();
  Process run("unshare", with(with(kOwnNetwork, {"sh", script, actorhost_binary()}), training()), folder.options());
  for (const char* id : {"0", "1", "2"}) {
    INFO(run.describe());
    REQUIRE(run.wait_for_match("worker " + std::string(id) + " in process (\\d+)\\.", 30));
  }
  if (what == "0") {  // until a host knows that workers are peers, the loss of the coordinator ends it
    INFO(run.describe());
    REQUIRE(run.wait_for_match("outlives its(?:[^]*outlives its){2}", 30));
  }
  sleep_at_most(0.5, rng);
  std::ofstream(folder.path() / "cut") << what << std::endl;
  const auto status = run.wait(60);
  INFO(what << " was cut off\n" << run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), "ended with 0.") == 2);
  check_weights(run.err(), 2);
}
