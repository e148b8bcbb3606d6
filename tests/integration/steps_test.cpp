// Barrier rules between the steps of collective jobs and of averaging: nobody passes whom the rule holds, and who is
// slow holds those only whom it says.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

/// Rank 0 stands in its fourth step until the others have come as far as the rule lets them, and they try to go on.
constexpr const char* kSteps = R"lua(
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local way, rule, lead = ..., select(2, ...)
lead = tonumber(lead)
local handle, x
if way == "average" then
  x = tensor.full({ 3 }, actor.rank)
  handle = actor.average.start(x, { sync_interval_ms = 1, barrier = rule })
end
local function steps(count)
  if way == "steps" then return co.steps { count = count, barrier = rule } end
  local step = 0
  return function()
    step = step + 1
    if step <= count then return step end
  end
end
local function work(step)
  tell(("rank %d in step %d"):format(actor.rank, step))
  if actor.rank == 0 and step == 4 then
    for other = 1, actor.size - 1 do await(("rank %d in step %d"):format(other, 4 + lead)) end
    local till = actor.now() + 0.02 -- nothing tells that somebody goes on to wait
    while actor.now() < till do end
    for other = 1, actor.size - 1 do
      assert(not io.open(("rank %d in step %d"):format(other, 4 + lead + 1)), "passed too early")
    end
  end
end
local made = 0
for step in steps(actor.rank == 0 and 12 or 10) do
  if handle then handle:step(work, step) else work(step) end
  made = step
end
if handle then
  handle:abort()
  assert(x:min() == x:max())
end
print("made " .. made)
)lua";

}  // namespace

TEST_CASE("steps of collective jobs and of averaging keep to a barrier rule") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kSteps);
  const std::string way = GENERATE(as<std::string>(), "steps", "average");
  const auto [rule, lead] = GENERATE(table<std::string, std::string>({{"bsp", "0"}, {"ssp:2", "2"}}));
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Finished run = run_at(place, folder, {"job.lua", way, rule, lead});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("made 12"));
}

TEST_CASE("the flag --barrier wins, rules in Lua work, and one that needs all workers together is refused by name") {
  const auto [flag, way, lead, refused] = GENERATE(table<std::string, std::string, std::string, bool>(
      {{"rule.lua", "steps", "3", false}, {"ssp:1", "average", "1", false}, {"elastic", "steps", "0", true}}));
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kSteps);
  folder.write("rule.lua", "return function(view) return view:behind(3) == 0 end");
  const Finished run = folder.run({"-n", "2", "--barrier", flag, "job.lua", way, "bsp", lead});
  INFO(run.description);
  CHECK(run.out == (refused ? "" : "made 12\n"));
  CHECK(run.status == (refused ? 1 : 0));
  if (refused) {
    CHECK_THAT(run.err, Contains("collective.steps: barrier rule 'elastic(10)': it cannot be honoured here"));
  }
}

TEST_CASE("nobody waits for a worker that is lost between steps") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + R"(
local actor = require "actor"
ffi.cdef "int getpid();"
for step in actor.collective.steps { count = 20, barrier = "ssp:1" } do
  if actor.rank == 2 and step == 5 and actor.size == 3 then
    print(("stays in process %d."):format(ffi.C.getpid()))
    await("never")
  end
end
print("the end of " .. actor.size)
)");
  Process run = folder.start({"-n", "3", "--isolate", "--print", "all", "job.lua"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK_THAT(run.out(), Contains("the end of 2"));
}

TEST_CASE("a job of collectives honours --barrier by its steps and --checkpoint by what it saves, and tells the rest") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local keeper = actor.checkpoint.new { steps = 2 }
local state = keeper:load() or { step = 0 }
for step in actor.collective.steps { count = state.step + 2, from = state.step } do
  state.step = step
  keeper:save(state)
end
if actor.rank == 0 then print("step " .. state.step) end
)");
  const Words flags = {"-n", "2", "--isolate", "--barrier", "ssp:1", "--checkpoint", "saved"};
  const Finished first = folder.run(with(flags, {"job.lua"}));
  const Finished second = folder.run(with(flags, {"--resume", "--seconds", "9", "job.lua"}));
  INFO(first.description << second.description);
  CHECK(first.out == "step 2\n");
  CHECK(second.out == "step 4\n");
  CHECK_THAT(first.err, !Contains("had no effect"));
  CHECK_THAT(second.err, Contains("rank 0: --seconds had no effect"));
}
