// Actions of map-reduce and the narrow operations, compared with plain Lua on the same rows, and the error messages of
// tasks.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("a seeded sample is the same for any number of nodes") {
  const JobFolder folder;
  const Finished one = folder.run({"-n", "1", "jobs/mapreduce_actions.lua", "samples"});
  INFO(one.description);
  const auto figure = [&](const std::string& text, const char* what) {
    return line_after(text, std::string(what) + ": ");
  };
  CHECK(std::stoi(figure(one.out, "native")) > 5700);
  CHECK(std::stoi(figure(one.out, "native")) < 6300);
  CHECK(figure(one.out, "Lua") == figure(one.out, "native"));
  CHECK(std::stoi(figure(one.out, "twice")) > 2800);
  CHECK(std::stoi(figure(one.out, "twice")) < 3200);
  CHECK(std::stoi(figure(one.out, "again")) > 49000);
  CHECK(std::stoi(figure(one.out, "again")) < 51000);
  const Finished three = folder.run({"-n", "3", "jobs/mapreduce_actions.lua", "samples"});
  INFO(three.description);
  for (const char* what : {"native", "Lua", "twice", "again"}) CHECK(figure(three.out, what) == figure(one.out, what));
}

TEST_CASE("the accumulator additions of a task count once although its worker was lost") {
  const Finished run =
      JobFolder().run({"-n", "3", "--isolate", "jobs/mapreduce_actions.lua", "accumulations_of_task_count_once"});
  INFO(run.description);
  CHECK(line_after(run.out, "partitions: ") == "40");
  CHECK(line_after(run.out, "added: ") == "80200");
  CHECK_THAT(run.err, Catch::Contains("outputs are lost with"));
}

TEST_CASE("nodes whose broadcasts differ do not run an action together") {
  const Ended run(JobFolder().run({"-n", "2", "--memory", "20M", "jobs/mapreduce_actions.lua", "broadcasts_differ"}),
                  1);
  CHECK_THAT(run.err, Catch::Contains("nodes disagree on what to compute"));
}
