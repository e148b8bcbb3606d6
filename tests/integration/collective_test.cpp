// Collectives as scripts call them: against a plain model, on threads, processes and hosts, and under failures.

#include <array>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("collectives match a plain model, for any number of ranks") {
  const JobFolder folder;
  const std::string seed = any_seed();
  const std::string ranks = std::to_string(GENERATE(range(1, 10)));
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const Finished run = folder.run(
      with({"-n", ranks}, with(place, {"--log-level", "error", "jobs/collective_model.lua", seed, "20"})), 120);
  INFO("seed " << seed << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("collectives match a plain model between hosts with several nodes") {
  const JobFolder folder;
  const std::string seed = any_seed();
  const std::string nodes = GENERATE("1", "2", "3");
  Hosts hosts(folder, 3, {"-n", nodes, "jobs/collective_model.lua", seed, "40"});
  const std::vector<int> codes = hosts.wait(120);
  INFO("seed " << seed << "\n" << hosts.describe());
  CHECK(codes == std::vector<int>(3, 0));
  CHECK(hosts.out() == "all as they should be\n");
}

TEST_CASE("sixty-four ranks combine") {
  const JobFolder folder;
  const Ended run(
      folder.run({"-n", "64", "--log-level", "error", "jobs/collective.lua", "sixty_four_ranks_combine"}, 120));
  CHECK(run.out == "combined\n");
}

TEST_CASE("all other ranks name a rank killed between or in collectives once, and continue") {
  const JobFolder folder;
  const std::string count = GENERATE("10", "60000");
  const std::string seed = any_seed();
  const Finished run = folder.run({"-n", "4", "--isolate", "--log-level", "error", "jobs/collective.lua",
                                   "rank_that_is_killed_between_or_in", count, seed},
                                  120);
  INFO("seed " << seed << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("3 ranks: allreduce: rank 2 lost (peer_lost)\n"));
}

TEST_CASE("mismatched collectives are errors with both ranks and both lines, for each kind of mismatch") {
  const JobFolder folder;
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const Ended run(
      folder.run(with({"-n", "2"}, with(place, {"--log-level", "error", "jobs/collective_misfits.lua"})), 60));
  CHECK(run.out == "all reported\n");
}

TEST_CASE("a mismatched collective ends the run if no script catches its error") {
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const JobFolder folder;
  const Ended run(
      folder.run(with(nodes, {"--log-level", "error", "jobs/collective.lua", "collective_that_does_not_fit_with"})), 1);
  CHECK_THAT(run.err, Contains("rank 0 is in allreduce sum float32[3] at collective.lua:45") &&
                          Contains("rank 1 is in allgather float32[*] at collective.lua:47"));
}

TEST_CASE("a failed collective blocks no rank, even if another rank has not read its messages") {
  const JobFolder folder;
  // Starts all runs at once, since they wait more than they compute.
  std::vector<Words> cases;
  for (const char* odd : {"0", "3"}) {
    for (const char* algorithm : {"star", "ring"}) {
      for (const char* how : {"blocking", "async"}) cases.push_back({odd, algorithm, how});
    }
  }
  const auto runs = run_together(cases.size(), [&](size_t i) {
    const Words job = {"-n", "4", "--log-level", "error", "jobs/collective.lua", "collective_that_has_failed_holds_up"};
    return folder.run(with(job, cases[i]), 60);
  });
  for (const Finished& run : runs) {
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(run.out == "at the end\n");
  }
}

TEST_CASE("wrong arguments of collectives are errors at the user's line") {
  struct Wrong {
    std::string call, expected;
  };
  const Wrong wrong = GENERATE(
      Wrong{"co.allreduce(3)", "bad argument 'tensor' to collective.allreduce: expected tensor, got number"},
      Wrong{"co.allreduce(t, 'median')", "expected one of sum, mean, min, max, prod or a function, got 'median'"},
      Wrong{"co.allreduce(t, 'sum', { algorithm = 'tree' })", "there is no 'tree' for it"},
      Wrong{"co.allreduce(t, 'sum', { fast = true })", "unknown option 'fast' to collective.allreduce"},
      Wrong{"co.allreduce(t, 'sum', { timeout = -1 })", "bad argument 'timeout' to collective.allreduce"},
      Wrong{"co.allreduce(t, 'sum', { out = require('actor').tensor.ones { 4 } })", "4"},
      Wrong{"co.broadcast(t, 2)", "there is no rank 2 among 2"},
      Wrong{"co.broadcast(t, 1.5)", "bad argument 'root' to collective.broadcast: expected an integer"},
      Wrong{"co.broadcast(print, 0)", "function"}, Wrong{"co.gather(t, 5)", "there is no rank 5 among 2"},
      Wrong{"co.scatter({ 1, 2, 3 })", "expected 2 values, one for each rank, got 3"},
      Wrong{"co.alltoall('x')", "expected table, got string"},
      Wrong{"co.group('g', { 0, 7 })", "there is no rank 7 among 2"}, Wrong{"co.group('', { 0 })", "expected a name"},
      Wrong{"co.allreduce(t, function() error('no sum') end)", "no sum"});
  const JobFolder folder;
  folder.write("job.lua", "local co = require('actor').collective\nlocal t = require('actor').tensor.ones { 3 }\n" +
                              wrong.call + "\n");
  const Ended run(folder.run({"-n", "2", "--log-level", "error", "job.lua"}), 1);
  CHECK_THAT(run.err, Contains("job.lua:3: ") && Contains(wrong.expected));
}

TEST_CASE("a collective that times out names the missing rank, and the next collective works") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const Ended run(
      folder.run(with(nodes, {"--log-level", "error", "jobs/collective.lua", "timeout_names_missing_rank"})));
  CHECK(run.out == "nil\tbarrier: rank 1 has not answered in time\ttimeout\nand on\n");
}

TEST_CASE("a loss reported by an asynchronous collective is not reported again by the next collective") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "3", "--isolate", "--log-level", "error", "--print", "all", "jobs/collective.lua",
                              "loss_that_asynchronous_collective_has"}));
  for (const std::string rank : {"[rank 0] ", "[rank 1] "}) {
    CHECK_THAT(run.out, Contains(rank + "waited\tnil\tallreduce: rank 2 lost\tpeer_lost\n"));
    CHECK_THAT(run.out, Contains(rank + "gathered\ttrue\n"));
    CHECK_THAT(run.out, Contains(rank + "again\t2\n"));
  }
}

TEST_CASE("waiting for an asynchronous collective that other ranks will not start is an error with their positions") {
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
  const JobFolder folder;
  const Ended run(
      folder.run({"-n", "2", "--log-level", "debug", "jobs/collective.lua", "choice_of_algorithm_is_logged_once_for"}));
  for (const std::string choice :
       {"allreduce of 400 bytes among 2 ranks: shared memory", "allreduce of 400000 bytes among 2 ranks: shared memory",
        "allreduce of 400000 bytes among 2 ranks: ring"}) {
    CHECK(count_of(run.err, "rank 0: " + choice) == 1);
    CHECK(count_of(run.err, "rank 1: " + choice) == 1);
  }
  CHECK(count_of(run.err, "allreduce of 400 bytes among 2 ranks: star") == 1);  // the process's courier
}
