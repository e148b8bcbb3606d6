// The operations of map-reduce: each by example, and random pipelines against a model in Lua, for several numbers of
// nodes, with rows in memory and on disk.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

std::string script(const char* name) { return (source_dir() / "tests/integration" / name).string(); }

}  // namespace

TEST_CASE("map-reduce's wide operations give what they should") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "1"}, Words{"-n", "3"}, Words{"-n", "2", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", script("mapreduce_wide.lua")}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("map-reduce's wide operations give what they should on more rows than fit in memory") {
  const JobFolder folder;
  const Words words = {"-n", "2", "--memory", "16M", "--log-level", "error", script("mapreduce_spill.lua")};
  const Finished run = folder.run(words, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("random map-reduce pipelines give what a plain Lua model gives") {
  const JobFolder folder;
  struct Way {
    Words nodes;
    const char* seed;
    const char* cases;
  };
  const Way way = GENERATE(Way{{"-n", "1"}, "11", "120"}, Way{{"-n", "2"}, "12", "120"}, Way{{"-n", "3"}, "13", "120"},
                           Way{{"-n", "8"}, "14", "60"}, Way{{"-n", "2", "--isolate"}, "15", "60"});
  const Words words = {"--log-level", "error", script("mapreduce_model.lua"), way.seed, way.cases};
  const Finished run = folder.run(with(way.nodes, words), 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out.find("cases are as the model says") != std::string::npos);
}
