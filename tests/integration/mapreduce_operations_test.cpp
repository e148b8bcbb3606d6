// The operations of map-reduce: each by example, and random pipelines against a model in Lua, for several numbers of
// nodes, with rows in memory and on disk.

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {}  // namespace

TEST_CASE("map-reduce's wide operations give the right results") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "1"}, Words{"-n", "3"}, Words{"-n", "2", "--isolate"});
  const Ended run(folder.run(with(nodes, {"--log-level", "error", "jobs/mapreduce_wide.lua"})));
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("map-reduce treats NaN, -0 and surplus results of functions alike in each operation") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "1"}, Words{"-n", "2", "--isolate"});
  const Ended run(folder.run(with(nodes, {"--log-level", "error", "jobs/mapreduce_rules.lua"})));
}

TEST_CASE("rows from Lua tables have the same order for any order of pairs and any number of nodes") {
  std::string first;
  for (const Words& nodes : {Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "3", "--isolate"}}) {
    const JobFolder folder;
    const Ended run(folder.run(with(nodes, {"--log-level", "error", "jobs/mapreduce_order.lua"})));
    if (first.empty()) first = run.out;
    CHECK(run.out == first);
  }
}

TEST_CASE("plans that differ are refused, in any order of arrival and after the action is over") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const Ended run(folder.run(with(nodes, {"--log-level", "error", "jobs/mapreduce_misfits.lua"})));
  CHECK(run.out == "all reported\n");
}

TEST_CASE("iterations with different initial states are refused; captured values of functions may differ") {
  const JobFolder folder;
  const Finished run = folder.run(
      {"-n", "2", "--log-level", "error", "jobs/mapreduce_operations.lua", "iterations_that_begin_with_different"});
  INFO(run.description);
  CHECK(run.status != 0);
  CHECK_THAT(run.err,
             Catch::Contains("nodes disagree on what to compute") && Catch::Contains("mapreduce_operations.lua:44"));
}

TEST_CASE("map-reduce's README lists all functions of the module and its datasets") {
  const JobFolder folder;
  const Ended run(folder.run({"-n", "1", "jobs/mapreduce_operations.lua", "map_reduces_readme_lists_all_that"}));
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

TEST_CASE("map-reduce's wide operations give the right results on more rows than fit in memory") {
  const JobFolder folder;
  const Words words = {"-n", "2", "--memory", "16M", "--log-level", "error", "jobs/mapreduce_spill.lua"};
  const Ended run(folder.run(words, 60));
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("wide operations give the same results when a worker is lost after them") {
  const std::string operation = GENERATE(as<std::string>(), "sort", "zip_with_index", "zip", "join");
  const JobFolder folder;
  Process run = folder.start({"-n", "3", "--isolate", "jobs/mapreduce_operations.lua", "one_stays", operation});
  const auto process = run.wait_for_match("stays in process ([0-9]+)\\.", 30);
  REQUIRE(process);
  kill(std::stoi(*process), SIGKILL);
  CHECK(run.wait(30) == 0);
  INFO(run.describe());
  CHECK(run.out() == "all there\n");
}
