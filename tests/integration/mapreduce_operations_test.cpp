// The operations of map-reduce: each by example, and random pipelines against a model in Lua, for several numbers of
// nodes, with rows in memory and on disk.

#include <iterator>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("rows from Lua tables have the same order for any order of pairs and any number of nodes", "[deep]") {
  std::string first;
  for (const Words& nodes : {Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "3", "--isolate"}}) {
    const Ended run(JobFolder().run(with(nodes, {"--log-level", "error", "jobs/mapreduce_order.lua"})));
    if (first.empty()) first = run.out;
    CHECK(run.out == first);
  }
}

TEST_CASE("iterations with different initial states are refused; captured values of functions may differ") {
  const Finished run = JobFolder().run(
      {"-n", "2", "--log-level", "error", "jobs/mapreduce_operations.lua", "iterations_that_begin_with_different"});
  INFO(run.description);
  CHECK(run.status != 0);
  CHECK_THAT(run.err, Catch::Contains("nodes disagree on what to compute") &&
                          Catch::Contains(place_in("mapreduce_operations.lua", "mr.range(1, 10):iterate")));
}

TEST_CASE("map-reduce's README lists all functions of the module and its datasets") {
  const Ended run(JobFolder().run({"-n", "1", "jobs/mapreduce_operations.lua", "map_reduces_readme_lists_all_that"}));
  std::ifstream file(source_dir() / "stdlib/actor/mapreduce/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto has = [&](const std::string& name) { return text.find(name) != std::string::npos; };
  std::istringstream names(run.out);
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    INFO(name);
    const std::string other = "`" + name.substr(name.find(':') + 1) + "`";  // an alias, or without "mr."
    CHECK((has("`" + name + "`") || has("`" + name + "(") || has("`" + name + "{") || has(other)));
  }
  CHECK(count > 60);
}
