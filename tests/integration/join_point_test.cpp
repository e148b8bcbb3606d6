// Hosts that join a job of collectives late, and are admitted at its join_point.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// Runs a job of jobs/join_point.lua with `late` late hosts. The output is that of all hosts.
Ended run_join_point(const Words& job, const Words& flags = {"-n", "1"}, size_t late = 1) {
  Finished all{0, {}, {}, {}};
  for (const Ended& host : run_late(JobFolder(), with(with(flags, {"jobs/join_point.lua"}), job), "begun", late)) {
    if (host.status != 0) all.status = host.status;
    all.out += host.out;
    all.err += host.err;
    all.description += host.description;
  }
  return Ended(std::move(all));
}

}  // namespace

TEST_CASE("a late joiner is admitted at a join_point and continues with the others", "[deep]") {
  // Sums over all workers count the steps; a late joiner receives the count from rank 0.
  const auto [nodes, late, workers] = GENERATE(
      table<std::string, size_t, std::string>({{"1", 2, "3 workers, 2 late\n"}, {"2", 1, "4 workers, 2 late\n"}}));
  const Words flags = with({"-n", nodes}, GENERATE(Words{}, Words{"--isolate"}));
  const Ended run = run_join_point({"late_joiner_is_admitted_at_join_point"}, flags, late);
  CHECK_THAT(run.out, Contains(workers));
}

TEST_CASE("any first collective of a late joiner waits for the join_point, and is the next collective of all workers") {
  const std::string how = GENERATE("blocking", "async", "table");
  INFO(how);
  const Words words = {"-n", "1", "jobs/join_point.lua", "any_first_collective_of_late_worker", how};
  const auto hosts = run_late(JobFolder(), words, "begun");
  CHECK(hosts[0].out == "3\n2\n");
  CHECK_THAT(hosts[1].err, Contains("rank 1: has joined late: its first collective waits"));
}

TEST_CASE("a late joiner without a join_point ends with the others") {
  const Ended run = run_join_point({"late_joiner_without_join_point"});
  CHECK(run.out == "alone\t1\t1\n");
  CHECK_THAT(run.err, Contains("rank 1 has joined late: the others have come to the end of their scripts without "
                               "another collective.join_point()"));
}

TEST_CASE("actions do not wait for a late joiner that waits for a join_point", "[deep]") {
  // The late joiner waits at its barrier while the others run an action; then it is admitted, and skips that action.
  const std::string action = GENERATE("param", "mapreduce", "iterate");
  INFO(action);
  const Ended run = run_join_point({"actions_do_not_wait_for_late_worker", action});
  CHECK(run.out == "2\n");
}

TEST_CASE("the loss of an admitted late joiner is reported once") {
  const JobFolder folder;
  const FreePort port;
  const Words words =
      elastic_words(port, "1:2", {"-n", "1", "jobs/join_point.lua", "late_worker_that_is_let_in_and_lost_is"});
  Process first = folder.start(words, "begun");
  Process second = folder.start(words);
  CHECK(first.wait(30) == 0);
  CHECK(second.wait(20) != 0);
  INFO(first.describe() << second.describe());
  CHECK(first.out() == "nil\tallreduce: rank 1 lost\tpeer_lost\n0\t1\t1\n");
}

TEST_CASE("a late joiner that is lost while it waits is not admitted") {
  const JobFolder folder;
  const FreePort port;
  const Words words =
      elastic_words(port, "1:2", {"-n", "1", "jobs/join_point.lua", "late_worker_that_is_lost_while_it_waits"});
  Process first = folder.start(words, "begun");
  Process second = folder.start(words, "has joined late");
  REQUIRE(first.wait_for_output("rank 0: seen", 20));
  second.signal(SIGKILL);
  const Ended ended({first}, 30);
  CHECK(first.out() == "0\t1\n");
}

TEST_CASE("elastic_training admits late hosts and continues when a host leaves") {
  const JobFolder folder;
  const FreePort port;
  // Enough steps that the job outlasts all events of the test.
  const Words words = elastic_words(
      port, "1:3", {"-n", "1", (source_dir() / "examples/elastic_training.lua").string(), "--steps", "1000000000"});
  Process first = folder.start(words, "1 workers from step 0");
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
