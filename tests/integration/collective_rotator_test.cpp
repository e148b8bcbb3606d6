// collective.rotator and collective.scheduler in whole runs.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("a rotator's bound stops the work on a slice between two items, and the next visit continues there") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "threads", "isolate");
  const Ended run(place == "1" ? folder.run({"-n", "1", "jobs/collective_rotator.lua", "bounded"})
                               : run_at(place, folder, {"jobs/collective_rotator.lua", "bounded"}));
  CHECK_THAT(run.out, Contains("the time is kept"));
}

TEST_CASE("a round brings every slice to every rank once, one slice at a time, and back to its owner") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "5", "8", "threads", "isolate", "hosts");
  const Ended run(place.size() == 1 ? folder.run({"-n", place, "jobs/collective_rotator.lua", "rounds"}, 60)
                                    : run_at(place, folder, {"jobs/collective_rotator.lua", "rounds"}, 60));
  CHECK_THAT(run.out, Contains("rounds are right"));
}

TEST_CASE("a round carries partitions of every kind, and tensors return into their original tensors") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "5", "8", "threads", "isolate", "hosts");
  const Ended run(place.size() == 1 ? folder.run({"-n", place, "jobs/collective_rotator.lua", "kinds"}, 60)
                                    : run_at(place, folder, {"jobs/collective_rotator.lua", "kinds"}, 60));
  CHECK_THAT(line_after(run.out, "wrong: "), Contains("bad argument 'rounds' to rotator:round: expected"));
  CHECK_THAT(run.out, Contains("all kinds are right"));
}

TEST_CASE("a round that fails on one rank fails on all ranks and restores their partitions") {
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "--print", "all", "jobs/collective_rotator.lua", "fails"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), "raised: false collective_rotator.lua:179: rotator:round: rank 1: no more\ttrue") == 3);
  CHECK(count_of(run.out(),
                 "rank 1 is in rotator round 1 of 3 slices of table 'model' (sum) at collective_rotator.lua:") == 3);
  CHECK(count_of(run.out(), "every rank must make the same calls in the same order\ttrue") == 3);
  CHECK(count_of(run.out(), "collective.rotator takes either table or tables") == 3);
  CHECK(count_of(run.out(), "bad argument 'tables[2]' to collective.rotator: expected a table of collective.table") ==
        3);
  CHECK(count_of(run.out(), "lost:\tnil\trotator: rank 2 lost\tpeer_lost\ttrue") == 2);
  CHECK(count_of(run.out(), "then: 0") == 2);
}

TEST_CASE("schedulers hand out every item once, and return the results in order") {
  const JobFolder folder;
  const std::string place = GENERATE(as<std::string>(), "1", "2", "5", "8", "threads", "isolate", "hosts");
  const Ended run(place.size() == 1 ? folder.run({"-n", place, "jobs/collective_rotator.lua", "schedulers"}, 60)
                                    : run_at(place, folder, {"jobs/collective_rotator.lua", "schedulers"}, 60));
  CHECK_THAT(line_after(run.out, "raised: "), Contains("false") && Contains("scheduler:run: rank R: item 9: not this"));
  CHECK_THAT(line_after(run.out, "either: "), Contains("collective.scheduler takes either dynamic or static"));
}

TEST_CASE("other ranks process the items of a killed rank") {
  const JobFolder folder;
  const std::string kind = GENERATE(as<std::string>(), "dynamic", "static");
  Process run =
      folder.start({"-n", "3", "--isolate", "--print", "all", "jobs/collective_rotator.lua", "scheduler_killed", kind});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), "sum: 2210\t2") == 2);
}
