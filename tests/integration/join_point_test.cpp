// Hosts that join a job of collectives late, and are admitted at its join_point.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Words elastic(const FreePort& port, const char* nodes, const char* hosts, const Words& job) {
  return with({"-n", nodes, "--nnodes", hosts, "--rdzv-endpoint", port.endpoint()}, job);
}

/// Runs a job of jobs/join_point.lua on a first host, and after its "begun" on `late` more hosts, one after another.
/// All must exit with 0. Returns their output.
struct Late {
  std::string out, err;
};
Late run_late(const JobFolder& folder, const char* nodes, int late, const Words& job, const Words& flags = {}) {
  const FreePort port;
  const std::string hosts = "1:" + std::to_string(late + 1);
  const Words words = elastic(port, nodes, hosts.c_str(), with(with(flags, {"jobs/join_point.lua"}), job));
  std::vector<Process> all;
  all.push_back(folder.start(words));
  REQUIRE(all[0].wait_for_output("begun", 20));
  for (int i = 0; i < late; ++i) all.push_back(folder.start(words));
  Late got;
  for (Process& host : all) {
    const auto status = host.wait(30);
    INFO(host.describe());
    CHECK(status == 0);
    got.out += host.out();
    got.err += host.err();
  }
  return got;
}

}  // namespace

TEST_CASE("a late joiner is admitted at a join_point and continues with the others") {
  const JobFolder folder;
  // Sums over all workers count the steps; a late joiner receives the count from rank 0.
  const char* nodes = GENERATE("1", "2");
  const Words flags = GENERATE(Words{}, Words{"--isolate"});
  if (std::string(nodes) == "1") {
    CHECK_THAT(run_late(folder, nodes, 2, {"late_joiner_is_admitted_at_join_point"}, flags).out,
               Contains("3 workers, 2 late\n"));
  } else {
    CHECK_THAT(run_late(folder, nodes, 1, {"late_joiner_is_admitted_at_join_point"}, flags).out,
               Contains("4 workers, 2 late\n"));
  }
}

TEST_CASE("any first collective of a late joiner waits for the join_point, and is the next collective of all workers") {
  const JobFolder folder;
  const char* how = GENERATE("blocking", "async", "table");
  const FreePort port;
  const Words words = elastic(port, "1", "1:2", {"jobs/join_point.lua", "any_first_collective_of_late_worker", how});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  const auto one = first.wait(30);
  const auto other = second.wait(30);
  INFO(how << first.describe() << second.describe());
  CHECK(one == 0);
  CHECK(other == 0);
  CHECK(first.out() == "3\n2\n");
  CHECK_THAT(second.err(), Contains("rank 1: has joined late: its first collective waits"));
}

TEST_CASE("a late joiner without a join_point ends with the others") {
  const JobFolder folder;
  const Late got = run_late(folder, "1", 1, {"late_joiner_without_join_point"});
  CHECK(got.out == "alone\t1\t1\n");
  CHECK_THAT(got.err, Contains("rank 1 has joined late: the others have come to the end of their scripts without "
                               "another collective.join_point()"));
}

TEST_CASE("actions do not wait for a late joiner that waits for a join_point") {
  const JobFolder folder;
  // The late joiner waits at its barrier while the others run an action; then it is admitted, and skips that action.
  const char* action = GENERATE("param", "mapreduce", "iterate");
  INFO(action);
  CHECK(run_late(folder, "1", 1, {"actions_do_not_wait_for_late_worker", action}).out == "2\n");
}

TEST_CASE("the loss of an admitted late joiner is reported once") {
  const JobFolder folder;
  const FreePort port;
  const Words words = elastic(port, "1", "1:2", {"jobs/join_point.lua", "late_worker_that_is_let_in_and_lost_is"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  CHECK(first.wait(30) == 0);
  CHECK(second.wait(20) != 0);
  INFO(first.describe() << second.describe());
  CHECK(first.out() == "nil\tallreduce: rank 1 lost\tpeer_lost\n0\t1\t1\n");
}

TEST_CASE("a late joiner that is lost while it waits is not admitted") {
  const JobFolder folder;
  const FreePort port;
  const Words words = elastic(port, "1", "1:2", {"jobs/join_point.lua", "late_worker_that_is_lost_while_it_waits"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  REQUIRE(second.wait_for_output("has joined late", 20));
  REQUIRE(first.wait_for_output("rank 0: seen", 20));
  second.signal(SIGKILL);
  CHECK(first.wait(30) == 0);
  INFO(first.describe());
  CHECK(first.out() == "0\t1\n");
}

TEST_CASE("elastic_training admits late hosts and continues when a host leaves") {
  const JobFolder folder;
  const FreePort port;
  // Enough steps that the job outlasts all events of the test.
  const Words words =
      elastic(port, "1", "1:3", {(source_dir() / "examples/elastic_training.lua").string(), "--steps", "1000000000"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("1 workers from step 0", 20));
  Process second = folder.start(words);
  REQUIRE(first.wait_for_output("2 workers from step", 20));
  Process third = folder.start(words);
  REQUIRE(first.wait_for_output("3 workers from step", 20));
  third.signal(SIGKILL);
  REQUIRE(first.wait_for_output(": rank 2 lost", 20));
  INFO(first.describe() << second.describe());
  CHECK(first.running());
  CHECK(second.running());
}
