// A second param.run gets its own servers, in any state of the first run's servers.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("slow servers delay the next run, but no process declares their host failed", "[deep]") {
  const JobFolder folder;
  // Both runs at once: they wait more than they compute.
  Hosts of_one(folder, 2, {"-n", "1", "--servers", "1", "jobs/server_change.lua"});
  Hosts of_two(folder, 2, {"-n", "1", "--servers", "2", "jobs/server_change.lua"});
  for (Hosts* hosts : {&of_one, &of_two}) {
    const auto codes = hosts->wait(30);
    INFO(hosts->describe());
    CHECK(codes == std::vector<int>{0, 0});
    CHECK(hosts->out() == "steps: 3 3\n");
    CHECK(count_of(hosts->err(), "has ended at last") >= 1);
    CHECK_THAT(hosts->err(), !Contains("lost"));
  }
}
