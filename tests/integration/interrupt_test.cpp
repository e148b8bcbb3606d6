// Ctrl-C: any run ends within about a second, with exit code 130, and its completed checkpoints are on disk.

#include <regex>

#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

constexpr const char* kJobs = "jobs/interrupt.lua";

/// Runs the job until it works, then interrupts it.
void check_interrupt(const JobFolder& folder, const Words& flags, const std::string& job) {
  Process run = folder.start(with(flags, {kJobs, job}), "works\n");
  run.signal(SIGINT);
  const double interrupted = now();
  const Ended ended({run}, 20, 130);
  CHECK(now() - interrupted < 2.5 * patience());
  CHECK(count_of(run.err(), "actorhost: ") == 1);
  CHECK_THAT(run.err(), Contains("actorhost: interrupted\n"));
}

}  // namespace

TEST_CASE("Ctrl-C ends a run within about a second in any state", "[deep]") {
  const JobFolder folder;
  write_images(folder.path() / "images", 600, 100);
  const std::string job = GENERATE(as<std::string>(), "endless", "compiled", "coroutine", "swallows", "swallows_loops",
                                   "interpreted", "reads", "loads", "waits", "backtracks");
  check_interrupt(folder, {"-n", "2"}, job);
}

TEST_CASE("Ctrl-C ends a single node, several nodes and isolated nodes", "[deep]") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "1"}, Words{"-n", "8"}, Words{"--isolate", "-n", "2"});
  const std::string job = GENERATE(as<std::string>(), "endless", "compiled", "reads");
  check_interrupt(folder, flags, job);
}

TEST_CASE("Ctrl-C at the coordinator ends all hosts") {
  const JobFolder folder;
  const std::string job = GENERATE(as<std::string>(), "endless", "compiled");
  Hosts hosts(folder, 3, {"-n", "1", kJobs, job});
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_output("works\n", 20));
  hosts[0].signal(SIGINT);
  const double interrupted = now();
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{130, 130, 130});
  CHECK(now() - interrupted < 2.5 * patience());
}

TEST_CASE("Ctrl-C at another host removes that host from the run") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "1"}, Words{"-n", "1", "--isolate"});
  Hosts hosts(folder, 2, with(flags, {kJobs, "endless"}));
  for (size_t host = 0; host < 2; ++host) REQUIRE(hosts[host].wait_for_output("works\n", 20));
  hosts[1].signal(SIGINT);
  const auto code = hosts[1].wait(20);
  const bool noticed = hosts[0].wait_for_output("lost ", 20);
  hosts[0].signal(SIGINT);
  INFO(hosts.describe());
  CHECK(noticed);
  CHECK(code == 130);
  CHECK(count_of(hosts[1].err(), "actorhost: interrupted\n") == 1);
  CHECK(hosts[0].wait(20) == 130);
}

TEST_CASE("the checkpoints of an interrupted run are complete and the next run resumes from the newest") {
  const JobFolder folder;
  const Words flags = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  Process run = folder.start(with(flags, {"--checkpoint", "saved", kJobs, "endless"}));
  REQUIRE(run.wait_for_match("checkpoint saved/\\S+ at \\d+ updates(?:.|\n)*checkpoint saved/", 20));
  run.signal(SIGINT);
  const Ended ended({run}, 20, 130);
  const std::string log = run.err();
  long last = 0;
  const std::regex written("checkpoint saved/\\S+ at (\\d+) updates\n");
  for (std::sregex_iterator at(log.begin(), log.end(), written), end; at != end; ++at) last = std::stol((*at)[1]);

  const Ended next(folder.run(with(flags, {"--resume", "saved", "--seconds", "0.2", kJobs, "endless"})));
  std::smatch from;
  const std::regex resumes("resuming from the newest checkpoint in 'saved' \\((\\d+) updates\\)");
  REQUIRE(std::regex_search(next.err, from, resumes));
  CHECK(std::stol(from[1]) >= last);  // a checkpoint may be complete before the log reports it
  CHECK_THAT(next.err, Contains("begins at " + from[1].str() + " updates"));
}
