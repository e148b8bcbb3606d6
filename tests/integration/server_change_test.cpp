// A second param.run gets servers of its own, whatever those of the first still do.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// The first run's servers take four seconds to end: longer than it takes to be given up.
constexpr const char* kSlowToEnd = R"(
local actor = require "actor"
actor.on_error(function()
  if actor.role ~= "server" then return end
  local over = actor.now() + 4
  repeat until actor.now() > over
  actor.log.info("has ended at last")
end)
local function run()
  return actor.param.run {
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      return tasks
    end,
    push = function(id) return { { id, true } } end,
    stop = function(ctx) return ctx.step >= 3 end,
  }
end
local first, second = run(), run()
print(("steps: %d %d"):format(first.steps, second.steps))
)";

}  // namespace

TEST_CASE("servers that are slow to end hold up the next run, but nobody takes their host for dead") {
  const JobFolder folder;
  folder.write("job.lua", kSlowToEnd);
  const std::string servers = GENERATE(as<std::string>(), "1", "2");
  Hosts hosts(folder, 2, {"-n", "1", "--servers", servers, "job.lua"});
  const auto codes = hosts.wait(30);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{0, 0});
  CHECK(hosts.out() == "steps: 3 3\n");
  CHECK(count_of(hosts.err(), "has ended at last") >= 1);
  CHECK_THAT(hosts.err(), !Contains("lost"));
}
