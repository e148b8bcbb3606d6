// actor.average as scripts use it: on threads, processes and hosts, and when something goes wrong.

#include <random>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

std::string any_seed() { return std::to_string(std::random_device{}()); }

// Workers train until each has been in five more rounds, abort, compare, and go on, `times` times. What they add to `b`
// is known, so its mean is too.
constexpr const char* kTraining = R"lua(
local actor = require "actor"
local average, tensor, co = actor.average, actor.tensor, actor.collective
local peers, times, count = (...), tonumber((select(2, ...))), tonumber((select(3, ...)))
local model = {
  w = tensor.full({ count }, actor.rank + 1),
  b = tensor.full({ 7 }, actor.rank, { dtype = "float64" }),
}
local rng = actor.rng(actor.seed, actor.rank)
local handle = average.start(model, { sync_interval_ms = 2, peers = peers })
local steps = 0
for k = 1, times do
  local rounds = handle:stats().rounds + rng:int(1, 5)
  while handle:stats().rounds < rounds do
    handle:step(function()
      model.w:add_(0.001)
      model.b:add_(0.5)
      steps = steps + 1
    end)
  end
  handle:abort()
  if k % 3 == 0 then handle:abort() end
  local hash = actor.hash(model)
  local all = co.allgather { hash = hash, steps = steps }
  local sum = 0
  for r = 1, all.n do
    assert(all[r].hash == hash, "ranks hold different models")
    sum = sum + all[r].steps
  end
  local due = (actor.size - 1) / 2 + 0.5 * sum / actor.size
  assert(math.abs(model.b:get(7) - due) < 1e-6 * due, ("%.9g instead of %.9g"):format(model.b:get(7), due))
  handle:resume()
end
local stats = handle:stats()
assert(stats.steps == steps and stats.broken == 0 and stats.waiting >= 0)
print("averaged", stats.bytes > 0)
)lua";

}  // namespace

TEST_CASE("averaging keeps every step, and abort leaves the same model on all ranks") {
  const std::string peers = GENERATE("all", "ring", "random");
  const Words nodes = GENERATE(Words{"-n", "1"}, Words{"-n", "2"}, Words{"-n", "3"}, Words{"-n", "5"}, Words{"-n", "8"},
                               Words{"-n", "2", "--isolate"}, Words{"-n", "5", "--isolate"});
  const JobFolder folder;
  folder.write("job.lua", kTraining);
  const bool wire = nodes.size() > 2;
  const Finished run =
      folder.run(with(nodes, {"--seed", any_seed(), "--log-level", "error", "job.lua", peers, "5", "30000"}), 120);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == std::string("averaged\t") + (wire ? "true" : "false") + "\n");
}

TEST_CASE("averaging works between hosts of several nodes") {
  const std::string peers = GENERATE("all", "ring", "random");
  const JobFolder folder;
  folder.write("job.lua", kTraining);
  Hosts hosts(folder, 3, {"-n", "2", "--seed", any_seed(), "job.lua", peers, "5", "100000"});
  const std::vector<int> codes = hosts.wait(120);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>(3, 0));
  CHECK(hosts.out() == "averaged\ttrue\n");
}

TEST_CASE("a hundred aborts and resumes in a row") {
  const JobFolder folder;
  folder.write("job.lua", kTraining);
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Finished run =
      folder.run(with(nodes, {"--seed", any_seed(), "--log-level", "error", "job.lua", "all", "100", "1000"}), 240);
  INFO(run.description);
  CHECK(run.status == 0);
}

TEST_CASE("sixty-four nodes average") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local model = actor.tensor.full({ 1000 }, actor.rank, { dtype = "float64" })
local handle = actor.average.start(model, { sync_interval_ms = 1, peers = (...) })
for _ = 1, 20 do handle:step(function() model:add_(1) end) end
handle:abort()
assert(math.abs(model:get(1000) - (20 + 31.5)) < 1e-9, model:get(1000))
handle:resume()
handle:abort()
local hash = actor.hash(model)
local all = actor.collective.allgather(hash)
for r = 1, all.n do assert(all[r] == hash) end
print "averaged"
)lua");
  const std::string peers = GENERATE("all", "ring", "random");
  const Finished run = folder.run({"-n", "64", "--log-level", "error", "job.lua", peers}, 120);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "averaged\n");
}

TEST_CASE("a rank that is killed while it averages leaves the others averaging, and abort is theirs") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local average, tensor, co = actor.average, actor.tensor, actor.collective
local ffi = require "ffi"
ffi.cdef "int getpid(); int kill(int, int);"
local peers, seed = (...), tonumber((select(2, ...)))
local model = { w = tensor.full({ 300000 }, actor.rank) }
local handle = average.start(model, { sync_interval_ms = 1, peers = peers })
local last = actor.rng(seed):int(1, 400)
local step = 0
-- Somebody else sees the loss for sure: only then do the others stop.
while actor.size == 4 or step < 500 do
  step = step + 1
  handle:step(function() model.w:add_(0.001) end)
  if actor.id == 2 and step == last then ffi.C.kill(ffi.C.getpid(), 9) end
  require("actor.events").deliver()
end
handle:abort()
local hash = actor.hash(model)
local all = co.allgather(hash)
for r = 1, all.n do assert(all[r] == hash, "ranks hold different models") end
local x = model.w:get(1)
assert(x - x == 0)
handle:resume()
local rounds = handle:stats().rounds
while handle:stats().rounds < rounds + 3 do handle:step(function() model.w:add_(0.001) end) end
handle:abort()
print(all.n .. " ranks hold the same model")
)lua");
  const std::string seed = any_seed();
  const std::string peers = GENERATE("all", "ring", "random");
  const Finished run = folder.run({"-n", "4", "--isolate", "--log-level", "error", "job.lua", peers, seed}, 120);
  INFO("seed " << seed << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("3 ranks hold the same model\n"));
}

TEST_CASE("a rank that is killed while others wait for it in abort is not waited for") {
  const JobFolder folder;
  folder.write("job.lua", kMeeting + std::string(R"lua(
local actor = require "actor"
local ffi = require "ffi"
ffi.cdef "int getpid(); int kill(int, int);"
local model = actor.tensor.full({ 10 }, actor.rank)
local handle = actor.average.start(model, { sync_interval_ms = 1e6 })
if actor.id == 2 then
  await "rank 0 goes to abort"
  await "rank 1 goes to abort"
  ffi.C.kill(ffi.C.getpid(), 9)
end
tell(("rank %d goes to abort"):format(actor.rank))
handle:abort()
print(model:get(1))
)lua"));
  const Finished run = folder.run({"-n", "3", "--isolate", "--log-level", "error", "job.lua"}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "0.5\n");
}

TEST_CASE("who has aborted keeps its model as it is until it resumes") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local model = { w = actor.tensor.full({ 10 }, actor.rank) }
local handle = actor.average.start(model, { sync_interval_ms = 1 })
handle:resume() -- nothing to resume from
handle:abort()
assert(model.w:get(1) == 1)
local function more_rounds()
  local rounds = handle:stats().rounds
  while handle:stats().rounds < rounds + 5 do handle:step(function() end) end
end
if actor.rank == 2 then
  model.w:add_(30)
else
  handle:resume()
  more_rounds()
end
actor.collective.barrier()
assert(model.w:get(1) == (actor.rank == 2 and 31 or 1), model.w:get(1))
actor.collective.barrier()
if actor.rank == 2 then handle:resume() end
handle:abort()
assert(model.w:get(1) == 11)
model.w:add_(actor.rank)
handle:abort() -- nobody has gone on
assert(model.w:get(1) == 11 + actor.rank)
print "kept"
)lua");
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua"}), 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "kept\n");
}

TEST_CASE("the warm-up averages after each step, as synchronous training does") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local model = { w = actor.tensor.full({ 10 }, actor.rank, { dtype = "float64" }) }
local handle = actor.average.start(model, { sync_interval_ms = 1, warmup_steps = 10 })
for i = 1, 10 do
  handle:step(function() model.w:add_(i * (actor.rank + 1)) end)
  assert(math.abs(model.w:get(3) - (1 + i * (i + 1))) < 1e-9, model.w:get(3))
  if i == 4 then
    handle:abort()
    handle:resume()
  end
end
while handle:stats().rounds < 20 do handle:step(function() end) end
handle:abort()
assert(math.abs(model.w:get(3) - 111) < 1e-9, model.w:get(3))
print "warm"
)lua");
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua"}), 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "warm\n");
}

TEST_CASE("workers that do not start the same averaging hear of both ranks and both lines") {
  struct Misfit {
    std::string odd, says;
  };
  const Misfit misfit = GENERATE(
      Misfit{"average.start({ w = tensor.ones { 4 } })", "average.start of w float32[4], every 500 ms"},
      Misfit{"average.start({ v = tensor.ones { 3 } })", "average.start of v float32[3]"},
      Misfit{"average.start({ w = tensor.ones({ 3 }, { dtype = 'float64' }) })", "average.start of w float64[3]"},
      Misfit{"average.start({ w = tensor.ones { 3 } }, { sync_interval_ms = 100 })", "every 100 ms"},
      Misfit{"average.start({ w = tensor.ones { 3 } }, { peers = 'ring' })", "peers ring"},
      Misfit{"actor.param.run { schedule = print, push = print, stop = print }", "param.run"});
  const JobFolder folder;
  folder.write("job.lua",
               "local actor = require 'actor'\nlocal average, tensor = actor.average, actor.tensor\n"
               "if actor.rank == 0 then\n  average.start({ w = tensor.ones { 3 } })\nelse\n  " +
                   misfit.odd + "\nend\n");
  const Finished run = folder.run({"-n", "2", "--log-level", "error", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("nodes disagree on action 1 of the job: ") && Contains("at job.lua:4") &&
                          Contains("at job.lua:6") && Contains(misfit.says));
}

TEST_CASE("a worker whose script ends without the others' abort is named") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local handle = actor.average.start(actor.tensor.ones { 3 })
if actor.rank == 1 then return end
handle:abort()
)lua");
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua"}));
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("rank 1") && Contains("average.abort of that of job.lua:3 at job.lua:5"));
}

TEST_CASE("a worker may leave without an abort, and the others go on") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local model = actor.tensor.full({ 1000 }, actor.rank)
local handle = actor.average.start(model, { sync_interval_ms = 1 })
while actor.rank > 0 and handle:stats().rounds < 50 do handle:step(function() model:add_(0.01) end) end
)lua");
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua"}), 60);
  INFO(run.description);
  CHECK(run.status == 0);
}

TEST_CASE("wrong calls of average are errors at the user's line") {
  struct Wrong {
    std::string call, says;
  };
  const Wrong wrong = GENERATE(
      Wrong{"average.start(3)", "bad argument 'tensors' to average.start: expected tensors in a table, got number"},
      Wrong{"average.start {}", "expected at least one tensor"},
      Wrong{"average.start { w = 3 }", "bad argument 'tensors[w]' to average.start: expected tensor, got number"},
      Wrong{"average.start({ t }, { every = 3 })", "unknown option 'every' to average.start"},
      Wrong{"average.start({ t }, { peers = 'some' })", "expected one of 'all', 'ring', 'random', got 'some'"},
      Wrong{"average.start({ t }, { sync_interval_ms = -1 })", "bad argument 'sync_interval_ms' to average.start"},
      Wrong{"average.start({ t }, { warmup_steps = 1.5 })", "bad argument 'warmup_steps' to average.start"},
      Wrong{"average.start { tensor.ones({ 3, 4 }):narrow(2, 1, 2) }", "tensor '1' is not contiguous"},
      Wrong{"average.start { a = t, b = t:narrow(1, 2, 2) }", "tensors 'a' and 'b' share memory"},
      Wrong{"average.start({ t }, { filter = 'int9' })", "'int9' is no filter"},
      Wrong{"average.start({ t }, { filter = 'topk:0.1', peers = 'ring' })", "topk works with peers = 'all' only"},
      Wrong{"average.start({ t }, { filter = 'topk:0.1+fp16', peers = 'random' })", "with 'random' models are sent"},
      Wrong{"local h = average.start { t }; h:step(3)",
            "bad argument 'fn' to average.step: expected function, got number"},
      Wrong{"local h = average.start { t }; h:step(function() h:lock() end)",
            "the lock is held already, since job.lua:3"},
      Wrong{"local h = average.start { t }; h:unlock()", "the lock is not held"},
      Wrong{"local h = average.start { t }; h:step(function() h:abort() end)",
            "within a step, or the lock, of job.lua:3"},
      Wrong{"local h = average.start { t }; h:step(function() error('no step') end)", "no step"},
      Wrong{"local m = { w = t }; local h = average.start(m); m.w = t * 2; h:step(print)",
            "tensor 'w' is another one than average.start was given at job.lua:3"});
  const JobFolder folder;
  folder.write("job.lua",
               "local average, tensor = require('actor').average, require('actor').tensor\n"
               "local t = tensor.ones { 3 }\n" +
                   wrong.call + "\n");
  const Finished run = folder.run({"-n", "2", "--log-level", "error", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("job.lua:3: ") && Contains(wrong.says));
}

TEST_CASE("a model that is not finite is an error on its rank, and in abort on all") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local model = { w = actor.tensor.full({ 4 }, actor.rank) }
local handle = actor.average.start(model, { sync_interval_ms = 1 })
if actor.rank == 1 then
  handle:step(function() model.w:set(3, 0 / 0) end)
  local ok, message
  repeat ok, message = pcall(handle.step, handle, function() end) until not ok
  print(message)
end
local ok, message = pcall(handle.abort, handle)
assert(not ok)
print(message)
if actor.rank == 1 then model.w:set(3, 1) end
handle:resume()
handle:abort()
print(model.w:get(3) - model.w:get(3))
)lua");
  const Finished run = folder.run({"-n", "2", "--print", "all", "--log-level", "error", "job.lua"}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out,
             Contains("[rank 1] job.lua:8: average: tensor 'w' holds what is not finite at element 3, so it cannot be "
                      "averaged (rank 1); averaged since job.lua:4"));
  const std::string all = "average.abort: rank 1: tensor 'w' holds what is not finite at element 3";
  CHECK_THAT(run.out, Contains("[rank 0] ") && Contains(all));
  CHECK(count_of(run.out, all) == 2);
  CHECK(count_of(run.out, "] 0\n") == 2);
}

TEST_CASE("lock and unlock are a step, and a step gives what its function gives") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local model = actor.tensor.full({ 4 }, actor.rank)
local handle = actor.average.start(model, { sync_interval_ms = 1 })
while handle:stats().rounds < 5 do
  handle:lock()
  model:add_(1)
  local before = model:get(1)
  for _ = 1, 1000 do model:get(1) end
  assert(model:get(1) == before)
  handle:unlock()
end
local a, b, c = handle:step(function(...) return ..., nil, 7 end, "x")
assert(a == "x" and b == nil and c == 7)
handle:abort()
print "locked"
)lua");
  const Finished run = folder.run({"-n", "3", "--log-level", "error", "job.lua"}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "locked\n");
}

TEST_CASE("through a filter averaging keeps the sum of what all have learned, and reports fewer bytes") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local average, tensor, co = actor.average, actor.tensor, actor.collective
local bytes = {}
for _, filter in ipairs { "none", (...) } do
  local peers = select(2, ...)
  local model = tensor.uniform({ 20000 }, { seed = actor.rank + 1 })
  local sum = co.allreduce(model):sum()
  -- Steps are short beside the interval, so that no round goes without anybody: it would have fewer bytes, and the next one
  -- no filter.
  local handle = average.start(model, { sync_interval_ms = 30, filter = filter, peers = peers })
  local steps = 0
  local stats
  repeat -- through a filter until the rounds that went without it, as the first does, do not tell any more
    handle:step(function() model:add_(0.01) end)
    steps = steps + 1
    stats = handle:stats()
  until stats.rounds >= 12 and (#bytes == 0 or stats.bytes / stats.rounds < bytes[1])
  bytes[#bytes + 1] = stats.bytes / stats.rounds
  handle:abort()
  local due = sum + 200 * co.allreduce(tensor.full({ 1 }, steps)):get(1)
  local is = model:sum() * actor.size
  assert(math.abs(is - due) < 1e-3 * due, ("%g instead of %g"):format(is, due))
  local hash = actor.hash(model)
  local all = co.allgather(hash)
  for r = 1, all.n do assert(all[r] == hash) end
end
print(("%d bytes a round instead of %d"):format(bytes[2], bytes[1]))
)lua");
  const auto [filter, peers] = GENERATE(table<std::string, std::string>(
      {{"fp16", "all"}, {"int8", "all"}, {"topk:0.1+fp16", "all"}, {"fp16", "ring"}, {"int8", "random"}}));
  const Finished run = folder.run({"-n", "3", "--isolate", "--log-level", "error", "job.lua", filter, peers}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains(" bytes a round instead of "));
}

TEST_CASE("a rank that stays in a step holds up neither the others' steps nor their rounds") {
  const JobFolder folder;
  folder.write("job.lua", kMeeting + std::string(R"lua(
local actor = require "actor"
local model = actor.tensor.full({ 1000 }, 0, { dtype = "float64" })
local handle = actor.average.start(model, { sync_interval_ms = 1, deadline_ms = 20, peers = (...) })
if actor.rank == 2 then
  handle:step(function()
    model:add_(3)
    await "rank 0 is far"
    await "rank 1 is far"
    model:add_(3)
  end)
else
  while handle:stats().rounds < 10 or handle:stats().steps < 1000 do handle:step(function() model:add_(0.001) end) end
  tell(("rank %d is far"):format(actor.rank))
end
local steps = actor.collective.allreduce(actor.tensor.full({ 1 }, handle:stats().steps)):get(1) - 1
handle:abort()
assert(math.abs(model:get(5) - (6 + 0.001 * steps) / 3) < 1e-6, model:get(5))
print "far"
)lua"));
  const std::string peers = GENERATE("all", "ring", "random");
  const Words nodes = GENERATE(Words{"-n", "3"}, Words{"-n", "3", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua", peers}), 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "far\n");
}

TEST_CASE("a worker that joins a running job takes the others' model over, and abort waits for it") {
  const JobFolder folder;
  folder.write("job.lua", kMeeting + std::string(R"lua(
local actor = require "actor"
local model = actor.tensor.full({ 10 }, actor.id == 0 and 5 or 1000)
local handle = actor.average.start(model, { sync_interval_ms = 1, peers = (...), warmup_steps = 3 })
for _ = 1, 3 do handle:step(function() end) end
actor.log.info("worker %d averages.", actor.id)
if actor.id == 0 then
  local file
  repeat
    handle:step(function() end)
    file = io.open "the late one is in"
  until file
else
  while handle:stats().rounds < 3 do handle:step(function() end) end
  tell "the late one is in"
end
handle:abort()
print(("%d workers: %g"):format(actor.size, model:get(1)))
)lua"));
  const FreePort port;
  const Words words{"-n",
                    "1",
                    "--nnodes",
                    "1:3",
                    "--rdzv-endpoint",
                    port.endpoint(),
                    "--print",
                    "all",
                    "job.lua",
                    GENERATE("all", "ring", "random")};
  Process first = folder.start(words);
  REQUIRE(first.wait_for_output("worker 0 averages.", 20));
  Process second = folder.start(words);
  CHECK(first.wait(30) == 0);
  CHECK(second.wait(30) == 0);
  INFO(first.describe() << second.describe());
  CHECK_THAT(first.out(), Contains("2 workers: 5\n"));
  CHECK_THAT(second.out(), Contains("2 workers: 5\n"));
}
