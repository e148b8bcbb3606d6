// A rank without memory for a collective gets an error that its script can catch: the other ranks get it in the same
// call, and the next call works.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

#ifndef ACTORHOST_SANITIZED  // sanitizers take much address space

TEST_CASE("a rank without memory to pack its input of a collective does not block the others", "[deep]") {
  const std::string way = GENERATE(as<std::string>(), "allgather", "gather", "broadcast", "fold", "table");
  const Ended run(JobFolder().run({"-n", "3", "--isolate", "--print", "all", "jobs/out_of_memory.lua", way}));
  CHECK(count_of(run.out, "first: false") == 3);
  for (const char* rank : {"[rank 0] ", "[rank 2] "}) {
    const std::string message = line_after(run.out, std::string(rank) + "first: false ");
    CHECK_THAT(message, Contains("rank 1 is in ") && Contains("for which it has no memory, at out_of_memory.lua:"));
  }
  CHECK_THAT(line_after(run.out, "[rank 1] first: false out_of_memory.lua:"), Contains(": not enough memory"));
  CHECK(count_of(run.out, "then: 3") == 3);
}

TEST_CASE("a rank without memory for a slice fails the rotator's round on all ranks, which restore their partitions") {
  const Ended run(JobFolder().run({"-n", "3", "--isolate", "--print", "all", "jobs/out_of_memory.lua", "rotator"}));
  CHECK(count_of(run.out, "first: false out_of_memory.lua:27: rotator:round: rank 1: not enough memory\n") == 3);
  CHECK(count_of(run.out, "then: 3") == 3);
}

#endif
