// Barrier rules between the steps of collective jobs and of averaging: no worker passes against the rule, and a slow
// worker delays only the workers that the rule names.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a rule that needs all workers together is refused by name in collective jobs") {
  const Ended run(JobFolder().run({"-n", "2", "--barrier", "elastic", "jobs/steps.lua", "steps", "steps", "bsp", "0"}),
                  1);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Contains("collective.steps: barrier rule 'elastic(10)': it cannot be used here"));
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
