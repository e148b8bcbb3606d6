#include "bindings/process/program.hpp"

#include <catch.hpp>

using namespace actorhost;

TEST_CASE("a call after the end of a worker's run has the summary, also when the host has ended since") {
  Program program({}, true);
  const auto call = [] { return std::make_shared<ProgramCall>("return 1", "=call", std::vector<ProgramValue>{}); };
  const auto waits = call();
  program.add(waits);
  program.pause({std::string("six steps")});
  program.end({Code::io, "the host has ended"});
  const auto late = call();
  program.add(late);
  for (const auto& ended : {waits, late}) {
    REQUIRE(ended->wait(0));
    CHECK(ended->result().error().code == Code::aborted);
    CHECK(std::get<std::string>(ended->values().at(0).at(0).value) == "six steps");
  }
  program.resume();  // the worker is in its next run
  const auto next = call();
  program.add(next);
  REQUIRE(next->wait(0));
  CHECK(next->result().error().message == "the host has ended");
}
