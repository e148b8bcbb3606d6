// Collectives as scripts call them: against a plain model, on threads, processes and hosts, and under failures.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a mismatched collective ends the run if no script catches its error") {
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const Ended run(JobFolder().run(with(
                      nodes, {"--log-level", "error", "jobs/collective.lua", "collective_that_does_not_fit_with"})),
                  1);
  CHECK_THAT(run.err, Contains("rank 0 is in allreduce sum float32[3] at " +
                               place_in("collective.lua", "co.allreduce(tensor.ones { 3 }")) &&
                          Contains("rank 1 is in allgather float32[*] at " +
                                   place_in("collective.lua", "co.allgather(tensor.ones { 3 }")));
}

TEST_CASE("waiting for an asynchronous collective that other ranks will not start is an error with their positions",
          "[deep]") {
  struct Elsewhere {
    std::string odd, expected;
  };
  const std::vector<Elsewhere> cases = {{"", "rank 1 has come to the end of its script"},
                                        {"co.barrier()", "rank 1 is in barrier at job.lua:6"}};
  const std::array<JobFolder, 2> folders;
  for (size_t i = 0; i < cases.size(); ++i) {
    folders.at(i).write("job.lua",
                        "local actor = require 'actor'\nlocal co = actor.collective\nif actor.rank == 0 then\n"
                        "  co.allgather(1, { async = true }):wait()\nelse\n  " +
                            cases[i].odd + "\nend\n");
  }
  const auto runs = run_together(2 * cases.size(), [&](size_t i) {
    const Words place = i % 2 == 0 ? Words{} : Words{"--isolate"};
    return folders.at(i / 2).run(with({"-n", "2", "--log-level", "error"}, with(place, {"job.lua"})), 60);
  });
  for (size_t i = 0; i < runs.size(); ++i) {
    INFO(runs[i].description);
    CHECK(runs[i].status == 1);
    CHECK_THAT(runs[i].err, Contains("rank 0 is in allgather values at job.lua:4") && Contains(cases[i / 2].expected));
  }
}

TEST_CASE("the choice of an algorithm is logged once for each kind of call") {
  const Ended run(JobFolder().run(
      {"-n", "2", "--log-level", "debug", "jobs/collective.lua", "choice_of_algorithm_is_logged_once_for"}));
  for (const std::string choice :
       {"allreduce of 400 bytes among 2 ranks: shared memory", "allreduce of 400000 bytes among 2 ranks: shared memory",
        "allreduce of 400000 bytes among 2 ranks: ring"}) {
    CHECK(count_of(run.err, "rank 0: " + choice) == 1);
    CHECK(count_of(run.err, "rank 1: " + choice) == 1);
  }
  CHECK(count_of(run.err, "allreduce of 400 bytes among 2 ranks: star") == 1);  // the process's courier
}
