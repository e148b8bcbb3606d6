// Rounds of the history checker (tests/bench/peer_histories.lua): hosts of peers in network namespaces, with a cut
// link.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("when one of three hosts is cut off for 7 s, it exits with 3, and the others continue with one history",
          "[deep]") {
  if (!networks_can_be_made()) {
    WARN("test-skipped: network namespaces cannot be made here (that needs root, ip, bridge and unshare)");
    return;
  }
  const JobFolder folder;
  ProcessOptions options = folder.options();
  options.cwd = source_dir();
  options.env["TMPDIR"] = folder.path().string();
  // The seed selects the host to cut off: the second round cuts off the coordinator, the first round another host.
  const std::vector<Words> rounds = {{"--job", "counting", "--rule", "bsp", "--pull", "native", "--seed", "2"},
                                     {"--job", "counting", "--rule", "asp", "--pull", "lua", "--seed", "1"},
                                     {"--job", "registers", "--seed", "1"}};
  const Words fixed = {"tests/bench/peer_histories.lua",
                       actorhost_binary(),
                       "--rounds",
                       "1",
                       "--fault",
                       "cut",
                       "--seconds",
                       "7",
                       "--hosts",
                       "3",
                       "--nodes",
                       "1",
                       "--replicas",
                       "3",
                       "--value",
                       "small",
                       "--phase",
                       "steps"};
  const auto runs = run_together(rounds.size(),
                                 [&](size_t i) { return run_program("luajit", with(fixed, rounds[i]), 150, options); });
  for (const Finished& run : runs) {
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK_THAT(run.out,
               Catch::Contains("ends 3 0 0") || Catch::Contains("ends 0 3 0") || Catch::Contains("ends 0 0 3"));
  }
}
