// Tensors of integers and booleans between nodes: engines that only carry or sum them accept them, and engines that
// need floats refuse them by name.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("engines carry every element type, and name the types that they do not compute with", "[deep]") {
  const JobFolder folder;
  const std::string ranks = GENERATE("1", "3");
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const Words job = with({"-n", ranks}, with(place, {"--log-level", "error"}));
  const Finished first = folder.run(with(job, {"--checkpoint", "saved", "jobs/element_types.lua"}), 60);
  INFO(first.description);
  CHECK(first.out == "all carried\n");
  const Finished again = folder.run(with(job, {"--resume", "saved", "jobs/element_types.lua"}), 60);
  INFO(again.description);
  CHECK(again.out == "all read back\n");
}

TEST_CASE("the parameter server refuses integer tensors as values, but not within a table") {
  const Ended run(JobFolder().run({"-n", "1", "--log-level", "error", "jobs/element_types_param.lua"}, 60), 1);
  CHECK(run.out == "int64\n");
  CHECK_THAT(run.err, Catch::Contains("expected a tensor of float32 or float64, which updates are computed with, got "
                                      "int64; convert it with t:to('float32')"));
}
