// Hosts that join a job of collectives late, and get in at its join_point.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

Words elastic(const FreePort& port, const char* nodes, const char* hosts, const Words& job) {
  return with({"-n", nodes, "--nnodes", hosts, "--rdzv-endpoint", port.endpoint()}, job);
}

/// Runs "job.lua" on a first host, and once that says "begun" on `late` more, one behind the other; all have to end
/// with 0. What they wrote.
struct Late {
  std::string out, err;
};
Late run_late(const JobFolder& folder, const char* nodes, int late, const Words& flags = {}, const Words& args = {}) {
  const FreePort port;
  const std::string hosts = "1:" + std::to_string(late + 1);
  const Words words = elastic(port, nodes, hosts.c_str(), with(with(flags, {"job.lua"}), args));
  std::vector<Process> all;
  all.push_back(folder.start(words));
  REQUIRE(all[0].wait_for_output("begun", 20));
  for (int i = 0; i < late; ++i) all.push_back(folder.start(words));
  Late got;
  for (Process& host : all) {
    const auto status = host.wait(30);
    INFO(host.describe());
    CHECK(status == 0);
    got.out += host.out();
    got.err += host.err();
  }
  return got;
}

}  // namespace

TEST_CASE("who joins late is let in at a join_point and goes on with the others") {
  const JobFolder folder;
  // All steps are counted by everybody's sums; a late worker gets the count from rank 0.
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co = actor.collective
local step, late = 0, 0
local mine = actor.tensor.ones(3)
while late < 2 or step % 5 > 0 do
  local new = co.join_point()
  late = late + new
  if new > 0 then step, late = unpack(co.broadcast({ step, late })) end
  assert(co.size() == actor.size or late < 2)
  local sum = co.allreduce(mine)
  assert(sum:get(1) == co.size(), "a sum of others")
  step = step + 1
  if step == 1 then actor.log.info("begun") end
end
local ranks = co.allgather(co.rank())
local steps = co.allgather(step)
for i, other in ipairs(steps) do assert(other == step and ranks[i] == i - 1) end
print(("%d workers, %d late"):format(co.size(), late))
)lua");
  const char* nodes = GENERATE("1", "2");
  const Words flags = GENERATE(Words{}, Words{"--isolate"});
  if (std::string(nodes) == "1") {
    CHECK_THAT(run_late(folder, nodes, 2, flags).out, Contains("3 workers, 2 late\n"));
  } else {
    CHECK_THAT(run_late(folder, nodes, 1, flags).out, Contains("4 workers, 2 late\n"));
  }
}

TEST_CASE("any first collective of a late worker waits for the join_point, and is the next that all make") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co = actor.collective
local late = actor.rank > 0
local handle
if not late then
  actor.log.info("begun")
  co.allreduce(actor.tensor.ones(70000))
  co.allreduce(actor.tensor.ones(2), "sum", { async = true }):wait()
  repeat until co.join_point() > 0
end
local how = ...
local value = actor.tensor.full(40000, actor.rank + 1)
if how == "async" then
  handle = co.allreduce(value, "sum", { async = true })
  print(handle:wait():get(40000))
elseif how == "table" then
  local sums = co.table { combiner = "sum" }
  sums:add(7, actor.rank + 1)
  sums:allreduce()
  print(sums:get(7))
else
  print(co.allreduce(value):get(40000))
end
print(co.allreduce(actor.tensor.ones(1)):sum())
)lua");
  const char* how = GENERATE("blocking", "async", "table");
  const FreePort port;
  const Words words = elastic(port, "1", "1:2", {"job.lua", how});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  const auto one = first.wait(30);
  const auto other = second.wait(30);
  INFO(how << first.describe() << second.describe());
  CHECK(one == 0);
  CHECK(other == 0);
  CHECK(first.out() == "3\n2\n");
  CHECK_THAT(second.err(), Contains("rank 1: has joined late: its first collective waits"));
}

TEST_CASE("a late worker that no join_point comes for ends with the others") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + R"lua(
local actor = require "actor"
local co = actor.collective
if actor.rank == 0 then
  actor.log.info("begun")
  await "late"
  print("alone", co.size(), co.allreduce(actor.tensor.ones(1)):sum())
else
  tell "late"
  assert(co.rank() == nil)
  co.barrier()
  print("not reached")
end
)lua");
  const Late got = run_late(folder, "1", 1);
  CHECK(got.out == "alone\t1\t1\n");
  CHECK_THAT(got.err, Contains("rank 1 has joined late: the others have come to the end of their scripts without "
                               "another collective.join_point()"));
}

TEST_CASE("actions do not wait for a late worker that waits for a join_point") {
  const JobFolder folder;
  // The late worker stays at its barrier while the others take an action; then it is let in, and skips that action.
  folder.write("job.lua", std::string(kMeeting) + R"lua(
local actor = require "actor"
local co, param = actor.collective, actor.param
local mr = actor.mapreduce
local actions = {}
function actions.mapreduce() assert(mr.range(1, 1000):reduce(function(a, b) return a + b end) == 500500) end
function actions.iterate()
  local sum = mr.range(1, 1000):iterate {
    state = 0, steps = 3,
    step = function(part, state) return part[1] and state + 1 or state end,
    merge = function(state, parts) return state + #parts end,
  }
  assert(sum)
end
function actions.param()
  return param.run {
    init = function() return { w = actor.tensor.zeros(2) } end,
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "w", param.get "w" } } end
      return tasks
    end,
    push = function() return { { "w", actor.tensor.ones(2) } } end,
    stop = function(ctx) return ctx.updates >= 3 end,
  }
end
if actor.role == "worker" then
  if actor.rank == 0 then
    actor.log.info("begun")
    await "late"
  else
    tell "late"
    co.barrier()
    print(co.allreduce(actor.tensor.ones(1)):sum())
    return
  end
end
actions[...]()
repeat until co.join_point() > 0
co.barrier()
print(co.allreduce(actor.tensor.ones(1)):sum())
)lua");
  const char* action = GENERATE("param", "mapreduce", "iterate");
  INFO(action);
  CHECK(run_late(folder, "1", 1, {}, {action}).out == "2\n");
}

TEST_CASE("a late worker that is let in and lost is told of once") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + R"lua(
local actor = require "actor"
local co = actor.collective
if actor.rank == 0 then actor.log.info("begun") end
repeat until co.join_point() > 0
if actor.rank == 1 then
  ffi.cdef "int getpid(void); int kill(int, int);"
  ffi.C.kill(ffi.C.getpid(), 9)
end
local sum, message, code = co.allreduce(actor.tensor.ones(1))
print(sum, message, code)
print(co.join_point(), co.allreduce(actor.tensor.ones(1)):sum(), co.size())
)lua");
  const FreePort port;
  const Words words = elastic(port, "1", "1:2", {"job.lua"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  CHECK(first.wait(30) == 0);
  CHECK(second.wait(20) != 0);
  INFO(first.describe() << second.describe());
  CHECK(first.out() == "nil\tallreduce: rank 1 lost\tpeer_lost\n0\t1\t1\n");
}

TEST_CASE("a late worker that is lost while it waits is not let in") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co = actor.collective
if actor.rank == 0 then
  actor.log.info("begun")
  repeat co.barrier() until actor.size == 2
  actor.log.info("seen")
  repeat co.barrier() until actor.size == 1
  print(co.join_point(), co.size())
else
  co.join_point()
end
)lua");
  const FreePort port;
  const Words words = elastic(port, "1", "1:2", {"job.lua"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("begun", 20));
  Process second = folder.start(words);
  REQUIRE(second.wait_for_output("has joined late", 20));
  REQUIRE(first.wait_for_output("rank 0: seen", 20));
  second.signal(SIGKILL);
  CHECK(first.wait(30) == 0);
  INFO(first.describe());
  CHECK(first.out() == "0\t1\n");
}

TEST_CASE("elastic_training lets late hosts in and goes on when one leaves") {
  const JobFolder folder;
  const FreePort port;
  // So many steps that it does not come to an end before all that is to happen has.
  const Words words =
      elastic(port, "1", "1:3", {(source_dir() / "examples/elastic_training.lua").string(), "--steps", "1000000000"});
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("1 workers from step 0", 20));
  Process second = folder.start(words);
  REQUIRE(first.wait_for_output("2 workers from step", 20));
  Process third = folder.start(words);
  REQUIRE(first.wait_for_output("3 workers from step", 20));
  third.signal(SIGKILL);
  REQUIRE(first.wait_for_output(": rank 2 lost", 20));
  INFO(first.describe() << second.describe());
  CHECK(first.running());
  CHECK(second.running());
}
