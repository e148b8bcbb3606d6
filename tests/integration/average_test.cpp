// actor.average as scripts use it: on threads, processes and hosts, and under failures.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("workers that start different averagings get an error with both ranks and both lines") {
  struct Misfit {
    std::string odd, expected;
  };
  const Misfit misfit = GENERATE(
      Misfit{"average.start({ w = tensor.ones { 4 } })", "average.start of w float32[4], every 500 ms"},
      Misfit{"average.start({ v = tensor.ones { 3 } })", "average.start of v float32[3]"},
      Misfit{"average.start({ w = tensor.ones({ 3 }, { dtype = 'float64' }) })", "average.start of w float64[3]"},
      Misfit{"average.start({ w = tensor.ones { 3 } }, { sync_interval_ms = 100 })", "every 100 ms"},
      Misfit{"average.start({ w = tensor.ones { 3 } }, { peers = 'ring' })", "peers ring"},
      Misfit{"actor.param.run { schedule = print, push = print, stop = print }", "param.run"});
  const JobFolder folder;
  folder.write("job.lua",
               "local actor = require 'actor'\nlocal average, tensor = actor.average, actor.tensor\n"
               "if actor.rank == 0 then\n  average.start({ w = tensor.ones { 3 } })\nelse\n  " +
                   misfit.odd + "\nend\n");
  const Ended run(folder.run({"-n", "2", "--log-level", "error", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("nodes disagree on action 1 of the job: ") && Contains("at job.lua:4") &&
                          Contains("at job.lua:6") && Contains(misfit.expected));
}

TEST_CASE("the error names a worker whose script ends before the common abort") {
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(
      JobFolder().run(with(nodes, {"--log-level", "error", "jobs/average.lua", "script_of_one_worker_ends_early"})), 1);
  const std::string start = place_in("average.lua", "local handle = actor.average.start(actor.tensor.ones");
  CHECK_THAT(run.err,
             Contains("rank 1") && Contains("average.abort of the averaging of " + start + " at average.lua:"));
}

TEST_CASE("a worker that joins a running job adopts the current model, and abort waits for it", "[deep]") {
  const JobFolder folder;
  const std::string peers = GENERATE("all", "ring", "random");
  const Words words = {"-n", "1", "--print", "all", "jobs/average.lua", "worker_that_joins_running_job_takes", peers};
  for (const Ended& host : run_late(folder, words, "worker 0 averages.")) {
    CHECK_THAT(host.out, Contains("2 workers: 5\n"));
  }
}
