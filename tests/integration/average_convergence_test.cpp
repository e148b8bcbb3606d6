// Averaging as training: the quality of the trained model.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

TEST_CASE("averaging converges like synchronous training to within half a per cent, for any choice of partners") {
  // Both runs train the same nets on the same shards for the same epochs. Progress between rounds does not depend on
  // time: a worker waits for a round after a fixed number of steps. Without rounds before the abort the loss is 1.3 %
  // to 2.5 %.
  const JobFolder folder;
  const Ended run(folder.run({"-n", "3", "--log-level", "error", "jobs/average_convergence.lua"}, 200));
  const double synchronous = std::stod(line_after(run.out, "synchronous: "));
  CHECK(synchronous > 95);
  for (const std::string peers : {"all: ", "ring: ", "random: "}) {
    CHECK(std::stod(line_after(run.out, peers)) > synchronous - 0.5);
  }
}
