// dataset:iterate while workers join and leave: the assignment of partitions, and the counted contributions.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a host that joins late takes over partitions of an iterate") {
  const Words words = {"-n", "1", "jobs/mapreduce_iterate_change.lua", "late_host_takes_partitions"};
  const auto hosts = run_late(JobFolder(), words, "worker 0 works on 25 rows.");
  CHECK_THAT(hosts[0].out, Contains("rows of 0: 50, of 1: 50\n"));
}

TEST_CASE("a host that joins within a round works from the next round on, and bsp mixes no rounds") {
  const Words flags = GENERATE(Words{}, Words{"--late"});
  const Words words = with({"-n", "1", "jobs/mapreduce_iterate_change.lua", "host_joins_during_round"}, flags);
  const auto hosts = run_late(JobFolder(), words, "worker 0 works.");
  CHECK_THAT(hosts[0].out, Contains("of 0: 2, of 1: 2\n"));
}
