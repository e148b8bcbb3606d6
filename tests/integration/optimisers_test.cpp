// Native updates of the parameter server beside the same optimisers in a script.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

TEST_CASE("every optimiser gives the same bits on servers as opt:step, under every schedule and kind of clipping") {
  const JobFolder folder;
  const std::string servers = GENERATE(as<std::string>(), "1", "3");
  const Ended run(folder.run({"-n", "1", "--servers", servers, "jobs/optimisers.lua"}, 60));
  CHECK(run.out == "0 of 324 differ\n");
}
