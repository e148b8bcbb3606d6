// dataset:iterate while workers join and leave: the assignment of partitions, and the counted contributions.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a host that joins late takes over partitions of an iterate") {
  const JobFolder folder;
  const FreePort port;
  const Words words = {"-n",
                       "1",
                       "--nnodes",
                       "1:2",
                       "--rdzv-endpoint",
                       port.endpoint(),
                       "jobs/mapreduce_iterate_change.lua",
                       "late_host_takes_partitions"};
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("worker 0 works on 25 rows.", 20));
  Process second = folder.start(words);
  CHECK(first.wait(20) == 0);
  CHECK(second.wait(20) == 0);
  INFO(first.describe() << second.describe());
  CHECK_THAT(first.out(), Contains("rows of 0: 50, of 1: 50\n"));
}

TEST_CASE("a host that joins within a round works from the next round on, and bsp mixes no rounds") {
  const JobFolder folder;
  const FreePort port;
  const Words flags = GENERATE(Words{}, Words{"--late"});
  const Words words = with({"-n", "1", "--nnodes", "1:2", "--rdzv-endpoint", port.endpoint(),
                            "jobs/mapreduce_iterate_change.lua", "host_joins_during_round"},
                           flags);
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("worker 0 works.", 20));
  Process second = folder.start(words);
  CHECK(first.wait(20) == 0);
  CHECK(second.wait(20) == 0);
  INFO(first.describe() << second.describe());
  CHECK_THAT(first.out(), Contains("of 0: 2, of 1: 2\n"));
}
