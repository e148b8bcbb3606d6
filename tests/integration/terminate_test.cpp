// SIGTERM, the signal by which Slurm, Kubernetes and pre-emption end a run: the run writes a last checkpoint, then
// exits with 143.

#include <regex>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

constexpr const char* kTerminateJobs = "jobs/terminate.lua";

/// The updates in the last log line about a checkpoint; -1 without such a line.
long last_saved(const std::string& log) {
  long last = -1;
  const std::regex written("checkpoint saved/\\S+ at (\\d+) updates\n");
  for (std::sregex_iterator at(log.begin(), log.end(), written), end; at != end; ++at) last = std::stol((*at)[1]);
  return last;
}

}  // namespace

TEST_CASE("SIGTERM writes a last checkpoint of the parameter server and exits with 143", "[deep]") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"}, Words{"-n", "2", "--servers", "3"});
  const std::string barrier = GENERATE(as<std::string>(), "asp", "ssp:2", "bsp");
  Process run = folder.start(with(flags, {"--checkpoint", "saved", kTerminateJobs, "served", barrier}), "works\n");
  run.signal(SIGTERM);
  const Ended ended({run}, 20, 143);
  CHECK(count_of(run.err(), "actorhost: terminated\n") == 1);
  const long saved = last_saved(run.err());
  CHECK(saved >= 5);
  const Ended next(
      folder.run(with(flags, {"--resume", "saved", "--seconds", "0.3", kTerminateJobs, "served", barrier})));
  CHECK_THAT(next.err, Contains("(" + std::to_string(saved) + " updates)"));
  std::smatch sum;
  REQUIRE(std::regex_search(next.out, sum, std::regex("sum (\\d+) of (\\d+)")));
  CHECK(sum[1] == sum[2]);  // no update is lost or counted twice
}

TEST_CASE("a last checkpoint does not wait for a step that exceeds the available time") {
  const JobFolder folder;
  const std::string barrier = GENERATE(as<std::string>(), "asp", "bsp");
  Process run =
      folder.start({"-n", "2", "--checkpoint", "saved", kTerminateJobs, "served", barrier, "long"}, "works\n");
  run.signal(SIGTERM);
  const double begun = now();
  const Ended ended({run}, 20, 143);
  CHECK(now() - begun < 5 * patience());
  CHECK(last_saved(run.err()) >= (barrier == "bsp" ? 10 : 5));
}

TEST_CASE("SIGTERM to all processes of a run, or to each of its hosts, acts once") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "isolate", "hosts");
  const std::string job = GENERATE(as<std::string>(), "served", "kept");
  const std::string how = job == "served" ? "asp" : "all";
  if (place == "isolate") {
    Process run = folder.start({"-n", "3", "--isolate", "--checkpoint", "saved", kTerminateJobs, job, how}, "works\n");
    run.signal_group(SIGTERM);
    const Ended ended({run}, 20, 143);
    CHECK_THAT(run.err(), Contains("checkpoint saved/"));
    CHECK_THAT(run.err(), !Contains("lost "));
    return;
  }
  Hosts hosts(folder, 3, {"-n", "1", "--checkpoint", "saved", kTerminateJobs, job, how});
  REQUIRE(hosts[0].wait_for_output("works\n", 20));
  for (size_t host : {2, 1, 0}) hosts[host].signal(SIGTERM);
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{143, 143, 143});
  CHECK_THAT(hosts[0].err(), Contains("checkpoint saved/"));
}

TEST_CASE("all of a job's own checkpoints are saved once more at SIGTERM", "[deep]") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "1"}, Words{"-n", "3"}, Words{"-n", "2", "--isolate"});
  const std::string ranks = GENERATE(as<std::string>(), "first", "all");
  Process run =
      folder.start(with(flags, {"--checkpoint", "saved", kTerminateJobs, "kept", ranks, "one two"}), "works\n");
  run.signal(SIGTERM);
  const Ended ended({run}, 20, 143);
  for (const char* name : {"one", "two"}) {
    CHECK(std::filesystem::exists(folder.path() / ("saved/" + std::string(name) + "-000000000001/manifest.json")));
  }
  Process next = folder.start(with(flags, {"--resume", "saved", kTerminateJobs, "kept", ranks, "one two"}));
  const auto from = next.wait_for_match("from (\\d+)\n", 20);
  INFO(next.describe());
  REQUIRE(from.has_value());
  CHECK(std::stol(*from) >= 20);
}

TEST_CASE("the state of an iteration is saved once more at SIGTERM") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  Process run = folder.start(with(flags, {"--checkpoint", "saved", kTerminateJobs, "iterated"}), "works\n");
  run.signal(SIGTERM);
  const double begun = now();
  const Ended ended({run}, 20, 143);
  CHECK(now() - begun < 5 * patience());
  CHECK(std::filesystem::exists(folder.path() / "saved/iterate-2-000000000001/manifest.json"));
}

TEST_CASE("SIGTERM ends a run at once if it has nothing to save") {
  const JobFolder folder;
  const auto [flags, job] = GENERATE(table<Words, std::string>({
      {{"-n", "2"}, "none"},
      {{"-n", "2", "--isolate"}, "none"},
      {{"-n", "2", "--checkpoint", "saved"}, "none"},
      {{"-n", "2", "--checkpoint", "saved", "--isolate"}, "none"},
      {{"-n", "2"}, "kept"},
  }));
  Process run = folder.start(with(flags, {kTerminateJobs, job}), "works\n");
  run.signal(SIGTERM);
  const double begun = now();
  const Ended ended({run}, 20, 143);
  CHECK(now() - begun < 3 * patience());
  CHECK_THAT(run.err(), Contains("actorhost: terminated\n"));
}

TEST_CASE("a job that reaches no save ends after the grace time, or at a second signal", "[deep]") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const bool twice = GENERATE(false, true);
  Process run = folder.start(
      with(flags, {"--checkpoint", "saved", "--grace", twice ? "1000" : "1", kTerminateJobs, "stuck"}), "works\n");
  run.signal(SIGTERM);
  REQUIRE(run.wait_for_output("(--grace) for a last checkpoint", 20));
  const double begun = now();
  if (twice) run.signal(GENERATE(SIGTERM, SIGINT));
  const Ended ended({run}, 30, 143);
  CHECK(now() - begun < 8 * patience());
}

TEST_CASE("SIGTERM at one of several hosts removes that host from the run") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "1"}, Words{"-n", "1", "--isolate"});
  Hosts hosts(folder, 2, with(flags, {kTerminateJobs, "none"}));
  REQUIRE(hosts[0].wait_for_output("works\n", 20));
  hosts[1].signal(SIGTERM);
  const auto code = hosts[1].wait(20);
  const bool noticed = hosts[0].wait_for_output("lost ", 20);
  hosts[0].signal(SIGTERM);
  CHECK(hosts[0].wait(20) == 143);
  INFO(hosts.describe());
  CHECK(noticed);
  CHECK(code == 143);
}
