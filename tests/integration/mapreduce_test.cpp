// Map-reduce as a user runs it, with a worker lost in the middle; jobs/mapreduce.lua has the other cases.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("k-means with a worker killed in iteration 5 of 10 gives the same centroids", "[deep]") {
  const JobFolder folder;
  const Ended undisturbed(folder.run({"-n", "3", "--isolate", "jobs/mapreduce.lua", "means"}));
  CHECK(count_of(undisturbed.out, "\n") == 4);
  const Ended run(run_and_kill("isolate", folder, {"jobs/mapreduce.lua", "means", "stay"}, 30));
  CHECK(run.out == undisturbed.out);
}
