// Processes stopped until they are declared failed, and then continued: the others continue without them, and they end
// by themselves with a reason.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// The process id of worker `id`.
pid_t process_of_worker(Process& run, int id) { return process_of(run, "worker " + std::to_string(id) + " works"); }

std::vector<pid_t> processes_of(Process& run, int workers) {
  std::vector<pid_t> all;
  for (int id = 0; id < workers; ++id) all.push_back(process_of_worker(run, id));
  return all;
}

}  // namespace

TEST_CASE("an isolated worker stopped until it is declared failed ends with an error, and the others continue",
          "[deep]") {
  const bool late = GENERATE(false, true);  // is its connection closed for good when it wakes?
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "--log-level", "debug", "jobs/standstill.lua"});
  const auto workers = processes_of(run, 3);
  ::kill(workers[2], SIGSTOP);
  REQUIRE(run.wait_for_output("rank 0: worker 2 lost, now 2", 20));
  if (late) REQUIRE(run.wait_for_output("is over: finished", 20));
  ::kill(workers[2], SIGCONT);
  const auto why = run.wait_for_match("\nactorhost: ([^\n]+)\n", 20);
  INFO(run.describe());
  REQUIRE(why.has_value());
  CHECK_THAT(*why, Contains("the coordinator has dropped") ||
                       (Contains("lost server 0") && Contains("after this host did not run for")));
  CHECK(ends_within(workers[2], 5));
  CHECK(run.running());
  folder.write("finish", "");
  CHECK(run.wait(20) == 0);
  CHECK(run.out() == "ended with 2 workers\n");
  for (const pid_t worker : workers) CHECK(ends_within(worker, 5));
}

TEST_CASE("a run does not wait for a stopped isolated worker, and leaves nothing behind", "[deep]") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "jobs/standstill.lua"});
  const auto workers = processes_of(run, 3);
  ::kill(workers[1], SIGSTOP);
  REQUIRE(run.wait_for_output("rank 0: worker 1 lost, now 2", 20));
  folder.write("finish", "");
  const Ended ended({run}, 20);
  CHECK(run.out() == "ended with 2 workers\n");
  for (const pid_t worker : workers) CHECK(ends_within(worker, 5));
}

TEST_CASE("a host stopped until it is declared failed exits with 3 and a reason, and the others continue", "[deep]") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/standstill.lua"});
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_output("works in process", 20));
  hosts[2].signal(SIGSTOP);
  for (const size_t host : {0, 1}) REQUIRE(hosts[host].wait_for_output("lost, now 2", 20));
  hosts[2].signal(SIGCONT);
  CHECK(hosts[2].wait(20) == 3);
  CHECK(hosts[0].running());
  CHECK(hosts[1].running());
  folder.write("finish", "");
  const Ended both({hosts[0], hosts[1]}, 20);
  INFO(hosts.describe());
  CHECK_THAT(hosts[2].err(), Contains("actorhost: the coordinator has dropped") ||
                                 (Contains("actorhost: lost server 0") && Contains("this host did not run for")));
  CHECK(hosts.out() == "ended with 2 workers\n");
}

TEST_CASE("a rule sees a worker as suspected, and then as alive again") {
  const JobFolder folder;
  Hosts hosts(folder, 2, {"-n", "1", "--barrier", "jobs/standstill_watch.lua", "jobs/standstill.lua"});
  for (size_t host = 0; host < 2; ++host) REQUIRE(hosts[host].wait_for_output("works in process", 20));
  hosts[1].signal(SIGSTOP);
  CHECK(hosts[0].wait_for_output("[server 0] worker 1 is silent", 20));
  hosts[1].signal(SIGCONT);
  CHECK(hosts[0].wait_for_output("[server 0] worker 1 is back", 20));
  folder.write("finish", "");
  INFO(hosts.describe());
  CHECK(hosts[0].wait(20) == 0);
}

TEST_CASE("when the coordinator is stopped the others exit with 3 and name it, and it ends too when it resumes",
          "[deep]") {
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "1", "jobs/standstill.lua"});
  for (size_t host = 0; host < 3; ++host) REQUIRE(hosts[host].wait_for_output("works in process", 20));
  hosts[0].signal(SIGSTOP);
  const double stopped = now();
  for (const size_t host : {1, 2}) {
    const Ended ended({hosts[host]}, 20, 3);
    CHECK_THAT(hosts[host].err(), Contains("actorhost: lost server 0") && Contains(hosts.endpoint()));
    CHECK_THAT(hosts[host].err(), Contains("no heartbeat") && Contains("--resume"));
  }
  CHECK(now() - stopped < 5 * patience());
  hosts[0].signal(SIGCONT);
  const double woken = now();
  const Ended ended({hosts[0]}, 20, 3);
  CHECK(now() - woken < 5 * patience());
  CHECK_THAT(hosts[0].err(), Contains("did not run") && Contains("--resume"));
}

TEST_CASE("a run stopped as a whole continues without effect", "[deep]") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "jobs/standstill.lua"});
  processes_of(run, 3);
  run.signal_group(SIGSTOP);
  CHECK_FALSE(run.wait(4 / patience()).has_value());
  run.signal_group(SIGCONT);
  folder.write("finish", "");
  const Ended ended({run}, 20);
  CHECK(run.out() == "ended with 3 workers\n");
  CHECK(run.err().find("lost") == std::string::npos);
}
