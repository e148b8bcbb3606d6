// What engines take over and over again comes back. tests/bench/soak.lua is the long way to see it.

#ifndef ACTORHOST_SANITIZED  // which keep for a while what is given back

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

/// Lua that goes before a job: MB that are resident now.
const std::string kResident = R"lua(
local actor = require "actor"
local function resident()
  for _ = 1, 2 do collectgarbage() end
  for line in io.lines("/proc/self/status") do
    local kilobytes = line:match("^VmRSS:%s*(%d+)")
    if kilobytes then return kilobytes / 1024 end
  end
end
)lua";

double grown(const std::string& job) {
  const JobFolder folder;
  folder.write("job.lua", kResident + job);
  const Finished run = folder.run({"-n", "2", "--log-level", "warn", "job.lua"}, 60);
  INFO(run.description);
  REQUIRE(run.status == 0);
  return std::stod(line_after(run.out, "grown by "));
}

}  // namespace

TEST_CASE("averaging that has ended gives its memory back, while its handle is there and with it") {
  const std::string kept = GENERATE(as<std::string>(), "{ n = 0 }", "setmetatable({ n = 0 }, { __mode = 'v' })");
  const double megabytes = grown("local handles = " + kept + R"(
local model, before = actor.tensor.zeros(1000000), 0
for i = 1, 30 do
  local handle = actor.average.start(model, { sync_interval_ms = 1 })
  handle:step(function() end)
  handle:abort()
  handles[i] = handle
  if i == 10 then before = resident() end
end
handles[30]:resume() -- goes on as before
handles[30]:step(function() model:add_(1) end)
handles[30]:abort()
assert(model:mean() == 1)
print("grown by " .. resident() - before)
)");
  CHECK(megabytes < 30);  // 8 MB for each of 20 sessions, it was
}

TEST_CASE("what a node has been told, answer by answer, leaves nothing behind") {
  const double megabytes = grown(R"(
local mr, before = require "actor.mapreduce", 0
for i = 1, 200 do
  assert(mr.range(1, 4000, 1, 1000):count() == 4000)
  if i == 50 then before = resident() end
end
print("grown by " .. resident() - before)
)");
  CHECK(megabytes < 12);  // it was 22
}

#endif
