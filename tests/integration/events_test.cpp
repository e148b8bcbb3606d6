// collective.send_event, get_event and wait_event in whole runs.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

constexpr const char* kEvents = R"(
local actor = require "actor"
local c, tensor = actor.collective, actor.tensor
local rank, n = actor.rank, actor.size

-- To all: every value that travels, this node's own too.
local values = { 1.5, "text", true, { 1, { a = "b" } }, tensor.arange(6):reshape(2, 3),
  { w = tensor.full({ 3 }, rank), b = tensor.zeros(0), name = "model" }, string.rep("long", 1000) }
for i = 1, #values do c.send_event("all", values[i]) end
c.send_event("all", nil)
for from = 0, n - 1 do
  local function next_value() return c.wait_event("all", { from = from }).value end
  assert(next_value() == 1.5 and next_value() == "text" and next_value() == true)
  assert(next_value()[2].a == "b")
  local t = next_value()
  assert(t:sum() == 15 and t.shape[2] == 3)
  local mixed = next_value()
  assert(mixed.name == "model" and mixed.b.shape[1] == 0)
  assert(mixed.w:sum() == 3 * from)
  assert(next_value() == values[7] and next_value() == nil)
end

-- Point to point, around the ring; what is sent is a copy.
local slice = tensor.full({ 4 }, rank)
c.send_event("slice", slice, { to = (rank + 1) % n })
slice:fill_(-1)
local event = c.wait_event("slice")
assert(event.name == "slice" and event.from == (rank - 1) % n and event.id == event.from)
assert(event.value:sum() == 4 * event.from)

c.barrier()
-- Its own queue, by name and in order; without waiting.
assert(c.get_event() == nil)
for i = 1, 3 do c.send_event(i == 2 and "two" or "odd", i, { to = "local" }) end
assert(c.get_event("none") == nil)
assert(c.get_event("two").value == 2 and c.get_event().value == 1 and c.wait_event("odd").value == 3)
assert(c.get_event() == nil)

c.barrier()
-- Everybody floods everybody before anybody looks.
for i = 1, 3000 do c.send_event("flood", i) end
c.barrier()
local last = {}
for _ = 1, 3000 * n do
  local e = c.wait_event("flood")
  assert(e.value == (last[e.from] or 0) + 1)
  last[e.from] = e.value
end
local got, message, code = c.wait_event("flood", { timeout = 0.01 })
assert(got == nil and code == (n == 1 and "peer_lost" or "timeout"), message)
c.barrier()
print("all is well")
)";

constexpr const char* kLost = R"(
local actor = require "actor"
local c = actor.collective
local process = io.open("/proc/self/stat"):read("*n")
if actor.rank == 1 then
  c.send_event("last word", 5, { to = 0 })
  c.wait_event("heard")
  actor.log.info("stays in process %d.", process)
  while true do end
elseif actor.rank == 0 then
  print("word: " .. c.wait_event("last word", { from = 1 }).value)
  c.send_event("heard", true, { to = 1 })
  print("lost:", c.wait_event("more", { from = 1 }))
end
)";

constexpr const char* kEnds = R"(
local actor = require "actor"
local c = actor.collective
if actor.rank == 1 then c.send_event("bye", 1, { to = 0 }) end
if actor.rank == 0 then
  print("bye: " .. c.wait_event("bye").from)
  print("anybody:", c.wait_event())
  print("rank 1:", c.wait_event("x", { from = 1 }))
end
)";

constexpr const char* kWrong = R"(
local actor = require "actor"
local c = actor.collective
local what = actor.args[1]
if what == "value" then
  c.send_event("x", { f = print })
elseif what == "name" then
  c.send_event(5, 1)
elseif what == "to" then
  c.send_event("x", 1, { to = actor.size })
elseif what == "word" then
  c.send_event("x", 1, { to = "everybody" })
elseif what == "from" then
  c.wait_event("x", { from = -1 })
elseif what == "option" then
  c.wait_event("x", { form = 1 })
end
)";

}  // namespace

TEST_CASE("events of all kinds of values reach whom they are for, in order, wherever the nodes are") {
  const JobFolder folder;
  folder.write("job.lua", kEvents);
  const std::string place = GENERATE(as<std::string>(), "1", "2", "8", "threads", "isolate", "hosts");
  const Words words = {"--print", "all", "job.lua"};
  const Finished run =
      place.size() == 1 ? folder.run(with({"-n", place}, words), 60) : run_at(place, folder, words, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "all is well") == (place.size() == 1 ? std::stoul(place) : 3));
}

TEST_CASE("a wait for an event of a node that is killed ends, once what it sent has been taken") {
  const JobFolder folder;
  folder.write("job.lua", kLost);
  Process run = folder.start({"-n", "3", "--isolate", "job.lua"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(line_after(run.out(), "word: ") == "5");
  CHECK(line_after(run.out(), "lost:") == "\tnil\twait_event: rank 1 lost while waiting for 'more'\tpeer_lost");
}

TEST_CASE("who waits for an event when all others have come to their end is told") {
  const JobFolder folder;
  folder.write("job.lua", kEnds);
  const auto runs = run_together(places().size(), [&](size_t i) { return run_at(places()[i], folder, {"job.lua"}); });
  for (const Finished& run : runs) {
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "bye: ") == "1");
    CHECK_THAT(line_after(run.out, "anybody:"), Contains("everybody else has come to the end of its script"));
    CHECK_THAT(line_after(run.out, "rank 1:"),
               Contains("rank 1 has come to the end of its script") && Contains("peer_lost"));
  }
}

TEST_CASE("wrong calls of events say what is wrong at the user's line") {
  const JobFolder folder;
  folder.write("job.lua", kWrong);
  const auto [what, message] = GENERATE(table<std::string, std::string>({
      {"value", "job.lua:6: collective.send_event: value.f is a function"},
      {"name", "job.lua:8: bad argument 'name' to collective.send_event: expected string, got number"},
      {"to", "job.lua:10: bad argument 'to' to collective.send_event: expected an integer from 0 to 1, got 2"},
      {"word", "job.lua:12: bad argument 'to' to collective.send_event: expected a rank, 'all' or 'local', got string"},
      {"from", "job.lua:14: bad argument 'from' to collective.wait_event: expected an integer from 0 to 1, got -1"},
      {"option", "job.lua:16: unknown option 'form' to collective.wait_event (known: from, timeout)"},
  }));
  const Finished run = folder.run({"-n", "2", "job.lua", what});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains(message));
}
