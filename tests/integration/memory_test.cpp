// Engines release memory that they allocate repeatedly. tests/bench/soak.lua shows the same over a long time.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

#ifndef ACTORHOST_SANITIZED  // sanitizers retain freed memory for a while

namespace {

/// The growth in MB of that job of jobs/memory.lua.
double grown(const Words& job) {
  const Ended run(JobFolder().run(with({"-n", "2", "--log-level", "warn", "jobs/memory.lua"}, job), 60));
  return std::stod(line_after(run.out, "grown by "));
}

}  // namespace

TEST_CASE("ended averaging releases its memory, with and without its handle") {
  const std::string kept = GENERATE("kept", "weak");
  const double megabytes = grown({"averaging", kept});
  CHECK(megabytes < 30);  // with a leak 160: 8 MB for each of 20 sessions
}

TEST_CASE("the replies that a node receives leave no memory behind", "[deep]") {
  const double megabytes = grown({"answers"});
  CHECK(megabytes < 12);  // with the leak 22
}

#endif
