// Averaging as training: how good the model is that comes of it.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

TEST_CASE("averaging converges as synchronous training does, to within half a per cent, whoever averages with whom") {
  // The same nets, shards and epochs both ways. How far a worker gets between two rounds is no matter of time: it waits
  // for one after so many steps. Without rounds before the abort the loss is 1.3 % to 2.5 %.
  const JobFolder folder;
  const Ended run(folder.run({"-n", "3", "--log-level", "error", "jobs/average_convergence.lua"}, 200));
  const double synchronous = std::stod(line_after(run.out, "synchronous: "));
  CHECK(synchronous > 95);
  for (const std::string peers : {"all: ", "ring: ", "random: "}) {
    CHECK(std::stod(line_after(run.out, peers)) > synchronous - 0.5);
  }
}
