// How long a step of averaging holds the lock.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

TEST_CASE("a round may change the model between gradient and update only with lock = 'gradient'") {
  const JobFolder folder;
  const auto [lock, found] =
      GENERATE(table<std::string, std::string>({{"gradient", "between\n"}, {"step", "not between\n"}}));
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Ended run(run_at(place, folder, {"jobs/average_lock.lua", lock}));
  CHECK(run.out == found);
}
