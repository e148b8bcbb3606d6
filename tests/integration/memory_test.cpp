// Engines give back the memory that they take repeatedly. tests/bench/soak.lua shows the same over a long time.

#ifndef ACTORHOST_SANITIZED  // which keep for a while what is given back

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

/// The MB by which that job of jobs/memory.lua has grown.
double grown(const Words& job) {
  const JobFolder folder;
  const Ended run(folder.run(with({"-n", "2", "--log-level", "warn", "jobs/memory.lua"}, job), 60));
  return std::stod(line_after(run.out, "grown by "));
}

}  // namespace

TEST_CASE("averaging that has ended gives its memory back, while its handle is there and with it") {
  const std::string kept = GENERATE("kept", "weak");
  const double megabytes = grown({"averaging", kept});
  CHECK(megabytes < 30);  // 8 MB for each of 20 sessions, it was
}

TEST_CASE("what a node has been told, answer by answer, leaves nothing behind") {
  const double megabytes = grown({"answers"});
  CHECK(megabytes < 12);  // it was 22
}

#endif
