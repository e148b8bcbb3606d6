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

namespace {

// Worker 2 stays in the first row that it sees behind a wide operation until it is killed: with it go rows that were
// laid aside, and what was worked out from them, some of which others have used by then. Nobody is done with such a
// task before.
constexpr const char* kOneStays = R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local process = io.open("/proc/self/stat"):read("*n")
local met = false
local function stay()
  if actor.id ~= 2 then
    if not met then await("worker 2 stays") end
    met = true
    return true
  end
  tell("worker 2 stays")
  actor.log.info("stays in process %d.", process)
  while true do end
end
local N = 20000
local rows = mr.range(1, N, 1, 30):map(function(i) return i * 7919 % N, i end)
local behind = {
  sort = function() return rows:sort_by_key():filter(stay):keys() end,
  zip_with_index = function() return rows:zip_with_index():filter(stay):values():map(function(i) return i - 1 end) end,
  zip = function() return rows:zip(rows:coalesce(7)):filter(stay):zip_with_index():values():map(function(i) return i - 1 end) end,
  join = function() return rows:join(rows):filter(stay):sort_by_key():keys() end,
}
local result = behind[...]():collect()
assert(#result == N)
for i, value in ipairs(result) do assert(value == i - 1, "place " .. i .. " has " .. tostring(value)) end
print("all there")
)";

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

TEST_CASE("map-reduce has one rule for NaN, -0 and what functions return too much, in each operation") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "1"}, Words{"-n", "2", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", script("mapreduce_rules.lua")}));
  INFO(run.description);
  CHECK(run.status == 0);
}

TEST_CASE("rows that were in Lua tables come out in one order, whatever that of pairs is and whoever runs them") {
  std::string first;
  for (const Words& nodes : {Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "3", "--isolate"}}) {
    const JobFolder folder;
    const Finished run = folder.run(with(nodes, {"--log-level", "error", script("mapreduce_order.lua")}));
    INFO(run.description);
    REQUIRE(run.status == 0);
    if (first.empty()) first = run.out;
    CHECK(run.out == first);
  }
}

TEST_CASE("plans that differ are refused, whoever comes first and also when the action is over") {
  const JobFolder folder;
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", script("mapreduce_misfits.lua")}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all told\n");
}

TEST_CASE("iterations that begin with different states are refused; what functions capture may differ") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local mr = require "actor.mapreduce"
local me = actor.rank
local log = me == 0 and function(x) return x end or function(x) return x, me end
assert(mr.range(1, 10):map(function(x) return (log(x)) end):sum() == 55)
local function one() return 1 end
mr.range(1, 10):iterate { state = me, steps = 3, step = one, merge = one }
)");
  const Finished run = folder.run({"-n", "2", "--log-level", "error", "job.lua"});
  INFO(run.description);
  CHECK(run.status != 0);
  CHECK_THAT(run.err, Catch::Contains("nodes disagree on what to compute") && Catch::Contains("job.lua:8"));
}

TEST_CASE("map-reduce's README lists all that the module and its datasets have") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local mr = require "actor.mapreduce"
for name in pairs(mr) do print("mr." .. name) end
for name in pairs(getmetatable(mr.range(1, 1)).__index) do
  if not name:find("^__") then print("d:" .. name) end
end
)");
  const Finished run = folder.run({"-n", "1", "job.lua"});
  INFO(run.description);
  REQUIRE(run.status == 0);
  std::ifstream file(source_dir() / "stdlib/actor/mapreduce/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto has = [&](const std::string& name) { return text.find(name) != std::string::npos; };
  std::istringstream names(run.out);
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    INFO(name);
    const std::string other =
        "`" + name.substr(name.find(':') + 1) + "`";  // another name of the same, or without "mr."
    CHECK((has("`" + name + "`") || has("`" + name + "(") || has("`" + name + "{") || has(other)));
  }
  CHECK(count > 60);
}

TEST_CASE("map-reduce's wide operations give what they should on more rows than fit in memory") {
  const JobFolder folder;
  const Words words = {"-n", "2", "--memory", "16M", "--log-level", "error", script("mapreduce_spill.lua")};
  const Finished run = folder.run(words, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("wide operations give the same when a worker is lost behind them") {
  const std::string operation = GENERATE(as<std::string>(), "sort", "zip_with_index", "zip", "join");
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kOneStays);
  Process run = folder.start({"-n", "3", "--isolate", "job.lua", operation});
  const auto process = run.wait_for_match("stays in process ([0-9]+)\\.", 30);
  REQUIRE(process);
  kill(std::stoi(*process), SIGKILL);
  CHECK(run.wait(30) == 0);
  INFO(run.describe());
  CHECK(run.out() == "all there\n");
}
