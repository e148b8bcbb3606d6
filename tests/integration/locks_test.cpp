// collective.lock, and partitions shared under locks, in whole runs.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("an error under a lock propagates unchanged") {
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Ended inside(run_at(place, JobFolder(), {"jobs/locks.lua", "error_inside"}), 1);
  CHECK_THAT(inside.err, Contains("rank 1: " + place_in("locks.lua", "return nothing.field") +
                                  ": attempt to index local 'nothing' (a nil value)"));
  CHECK_THAT(inside.err, Contains(place_in("locks.lua", "return nothing.field") +
                                  ": in function"));  // the traceback of the error itself
}
