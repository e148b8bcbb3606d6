// actor.average as scripts use it: on threads, processes and hosts, and under failures.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("averaging retains every step, and abort leaves the same model on all ranks") {
  const std::string peers = GENERATE("all", "ring", "random");
  const Words nodes = GENERATE(Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "3"}, Words{"-n", "5"}, Words{"-n", "8"},
                               Words{"-n", "2", "--isolate"}, Words{"-n", "5", "--isolate"});
  const JobFolder folder;
  const bool wire = nodes.size() > 2;
  const Ended run(folder.run(
      with(nodes, {"--seed", any_seed(), "--log-level", "error", "jobs/average.lua", "training", peers, "5", "30000"}),
      120));
  CHECK(run.out == std::string("averaged\t") + (wire ? "true" : "false") + "\n");
}

TEST_CASE("averaging works between hosts of several nodes") {
  const std::string peers = GENERATE("all", "ring", "random");
  const JobFolder folder;
  Hosts hosts(folder, 3, {"-n", "2", "--seed", any_seed(), "jobs/average.lua", "training", peers, "5", "100000"});
  const std::vector<int> codes = hosts.wait(120);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>(3, 0));
  CHECK(hosts.out() == "averaged\ttrue\n");
}

TEST_CASE("averaging survives a hundred aborts and resumes") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(folder.run(with(nodes, {"--seed", any_seed(), "--log-level", "error", "jobs/average.lua", "training",
                                          "all", "100", "1000", "2"}),
                             240));
}

TEST_CASE("sixty-four nodes average") {
  const JobFolder folder;
  const std::string peers = GENERATE("all", "ring", "random");
  const Ended run(
      folder.run({"-n", "64", "--log-level", "error", "jobs/average.lua", "sixty_four_nodes_average", peers}, 120));
  CHECK(run.out == "averaged\n");
}

TEST_CASE("when a rank is killed during averaging, the other ranks continue and can abort") {
  const JobFolder folder;
  const std::string seed = any_seed();
  const std::string peers = GENERATE("all", "ring", "random");
  const Finished run = folder.run({"-n", "4", "--isolate", "--log-level", "error", "jobs/average.lua",
                                   "rank_that_is_killed_while_it_averages", peers, seed},
                                  120);
  INFO("seed " << seed << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("3 ranks hold the same model\n"));
}

TEST_CASE("abort does not wait for a killed rank") {
  const JobFolder folder;
  const Ended run(folder.run(
      {"-n", "3", "--isolate", "--log-level", "error", "jobs/average.lua", "rank_that_is_killed_while_others_wait"},
      60));
  CHECK(run.out == "0.5\n");
}

TEST_CASE("an aborted worker leaves its model unchanged until it resumes") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(
      folder.run(with(nodes, {"--log-level", "error", "jobs/average.lua", "aborted_worker_keeps_its_model"}), 60));
  CHECK(run.out == "kept\n");
}

TEST_CASE("the warm-up averages after each step, like synchronous training") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(
      folder.run(with(nodes, {"--log-level", "error", "jobs/average.lua", "warm_up_averages_after_each_step_as"}), 60));
  CHECK(run.out == "warm\n");
}

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
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(
      folder.run(with(nodes, {"--log-level", "error", "jobs/average.lua", "script_of_one_worker_ends_early"})), 1);
  CHECK_THAT(run.err,
             Contains("rank 1") && Contains("average.abort of the averaging of average.lua:150 at average.lua:152"));
}

TEST_CASE("a worker may leave without an abort, and the other workers continue") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(
      folder.run(with(nodes, {"--log-level", "error", "jobs/average.lua", "worker_may_leave_without_abort_and"}), 60));
}

TEST_CASE("wrong calls of average are errors at the user's line") {
  struct Wrong {
    std::string call, expected;
  };
  const Wrong wrong = GENERATE(
      Wrong{"average.start(3)", "bad argument 'tensors' to average.start: expected tensors in a table, got number"},
      Wrong{"average.start {}", "expected at least one tensor"},
      Wrong{"average.start { w = 3 }", "bad argument 'tensors[w]' to average.start: expected tensor, got number"},
      Wrong{"average.start({ t }, { every = 3 })", "unknown option 'every' to average.start"},
      Wrong{"average.start({ t }, { peers = 'some' })", "expected one of 'all', 'ring', 'random', got 'some'"},
      Wrong{"average.start({ t }, { sync_interval_ms = -1 })", "bad argument 'sync_interval_ms' to average.start"},
      Wrong{"average.start({ t }, { warmup_steps = 1.5 })", "bad argument 'warmup_steps' to average.start"},
      Wrong{"average.start { tensor.ones({ 3, 4 }):narrow(2, 1, 2) }", "tensor '1' is not contiguous"},
      Wrong{"average.start { a = t, b = t:narrow(1, 2, 2) }", "tensors 'a' and 'b' share memory"},
      Wrong{"local h = average.start { t }; h:step(3)",
            "bad argument 'fn' to average.step: expected function, got number"},
      Wrong{"local h = average.start { t }; h:step(function() h:lock() end)",
            "the lock is held already, since job.lua:3"},
      Wrong{"local h = average.start { t }; h:unlock()", "the lock is not held"},
      Wrong{"local h = average.start { t }; h:step(function() h:abort() end)",
            "within a step, or the lock, of job.lua:3"},
      Wrong{"local h = average.start { t }; h:step(function() error('no step') end)", "no step"},
      Wrong{"local m = { w = t }; local h = average.start(m); m.w = t * 2; h:step(print)",
            "tensor 'w' is not the tensor that average.start received at job.lua:3"});
  const JobFolder folder;
  folder.write("job.lua",
               "local average, tensor = require('actor').average, require('actor').tensor\n"
               "local t = tensor.ones { 3 }\n" +
                   wrong.call + "\n");
  const Ended run(folder.run({"-n", "2", "--log-level", "error", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("job.lua:3: ") && Contains(wrong.expected));
}

TEST_CASE("a non-finite model is an error on its rank, and in abort on all ranks") {
  const JobFolder folder;
  const Ended run(folder.run(
      {"-n", "2", "--print", "all", "--log-level", "error", "jobs/average.lua", "model_that_is_not_finite_is_error_on"},
      60));
  CHECK_THAT(run.out,
             Contains("[rank 1] average.lua:167: average: tensor 'w' is not finite at element 3, so it cannot be "
                      "averaged (rank 1); averaged since average.lua:163"));
  const std::string all = "average.abort: rank 1: tensor 'w' is not finite at element 3";
  CHECK_THAT(run.out, Contains("[rank 0] ") && Contains(all));
  CHECK(count_of(run.out, all) == 2);
  CHECK(count_of(run.out, "] 0\n") == 2);
}

TEST_CASE("lock and unlock make a step, and a step returns the results of its function") {
  const JobFolder folder;
  const Ended run(folder.run(
      {"-n", "3", "--log-level", "error", "jobs/average.lua", "lock_and_unlock_are_step_and_step_gives"}, 60));
  CHECK(run.out == "locked\n");
}

TEST_CASE("a rank inside a long step blocks neither the steps nor the rounds of other ranks") {
  const JobFolder folder;
  const std::string peers = GENERATE("all", "ring", "random");
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Ended run(folder.run(
      with(nodes, {"--log-level", "error", "jobs/average.lua", "rank_that_stays_in_step_holds_up", peers}), 60));
  CHECK(run.out == "far\n");
}

TEST_CASE("a worker that joins a running job adopts the current model, and abort waits for it") {
  const JobFolder folder;
  const FreePort port;
  const Words words{"-n",
                    "1",
                    "--nnodes",
                    "1:3",
                    "--rdzv-endpoint",
                    port.endpoint(),
                    "--print",
                    "all",
                    "jobs/average.lua",
                    "worker_that_joins_running_job_takes",
                    GENERATE("all", "ring", "random")};
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("worker 0 averages.", 20));
  Process second = folder.start(words);
  CHECK(first.wait(30) == 0);
  CHECK(second.wait(30) == 0);
  INFO(first.describe() << second.describe());
  CHECK_THAT(first.out(), Contains("2 workers: 5\n"));
  CHECK_THAT(second.out(), Contains("2 workers: 5\n"));
}
