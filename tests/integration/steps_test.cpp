// Barrier rules between the steps of collective jobs and of averaging: no worker passes against the rule, and a slow
// worker delays only the workers that the rule names.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("steps of collective jobs and of averaging obey a barrier rule") {
  const JobFolder folder;
  const std::string way = GENERATE(as<std::string>(), "steps", "average");
  const auto [rule, lead] = GENERATE(table<std::string, std::string>({{"bsp", "0"}, {"ssp:2", "2"}}));
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/steps.lua", "steps", way, rule, lead}));
  CHECK_THAT(run.out, Contains("made 12"));
}

TEST_CASE("the flag --barrier wins, rules in Lua work, and a rule that needs all workers together is refused by name") {
  const auto [flag, way, lead, refused] = GENERATE(table<std::string, std::string, std::string, bool>(
      {{"rule.lua", "steps", "3", false}, {"ssp:1", "average", "1", false}, {"elastic", "steps", "0", true}}));
  const JobFolder folder;
  folder.write("rule.lua", "return function(view) return view:behind(3) == 0 end");
  const Finished run = folder.run({"-n", "2", "--barrier", flag, "jobs/steps.lua", "steps", way, "bsp", lead});
  INFO(run.description);
  CHECK(run.out == (refused ? "" : "made 12\n"));
  CHECK(run.status == (refused ? 1 : 0));
  if (refused) {
    CHECK_THAT(run.err, Contains("collective.steps: barrier rule 'elastic(10)': it cannot be used here"));
  }
}

TEST_CASE("no worker waits for a worker that is lost between steps") {
  const JobFolder folder;
  Process run =
      folder.start({"-n", "3", "--isolate", "--print", "all", "jobs/steps.lua", "lost_worker_is_not_awaited"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK_THAT(run.out(), Contains("the end of 2"));
}

TEST_CASE("a collective job honours --barrier by its steps and --checkpoint by its saves, and reports other flags") {
  const JobFolder folder;
  const Words flags = {"-n", "2", "--isolate", "--barrier", "ssp:1", "--checkpoint", "saved"};
  const Finished first = folder.run(with(flags, {"jobs/steps.lua", "job_of_collectives_honours_barrier_by"}));
  const Finished second = folder.run(
      with(flags, {"--resume", "--seconds", "9", "jobs/steps.lua", "job_of_collectives_honours_barrier_by"}));
  INFO(first.description << second.description);
  CHECK(first.out == "step 2\n");
  CHECK(second.out == "step 4\n");
  CHECK_THAT(first.err, !Contains("had no effect"));
  CHECK_THAT(second.err, Contains("rank 0: --seconds had no effect"));
}
