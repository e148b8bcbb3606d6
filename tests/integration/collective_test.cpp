// Collectives as scripts call them: against a plain model, on threads, processes and hosts, and when something goes
// wrong.

#include <array>
#include <random>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

std::string script(const std::string& name) { return (source_dir() / "tests/integration" / name).string(); }

std::string any_seed() { return std::to_string(std::random_device{}()); }

}  // namespace

TEST_CASE("collectives give what a plain model gives, for any number of ranks") {
  const JobFolder folder;
  const std::string seed = any_seed();
  const std::string ranks = std::to_string(GENERATE(range(1, 10)));
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const Finished run = folder.run(
      with({"-n", ranks}, with(place, {"--log-level", "error", script("collective_model.lua"), seed, "20"})), 120);
  INFO("seed " << seed << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all as they should be\n");
}

TEST_CASE("collectives give what a plain model gives between hosts of several nodes") {
  const JobFolder folder;
  const std::string seed = any_seed();
  const std::string nodes = GENERATE("1", "2", "3");
  Hosts hosts(folder, 3, {"-n", nodes, script("collective_model.lua"), seed, "40"});
  const std::vector<int> codes = hosts.wait(120);
  INFO("seed " << seed << "\n" << hosts.describe());
  CHECK(codes == std::vector<int>(3, 0));
  CHECK(hosts.out() == "all as they should be\n");
}

TEST_CASE("sixty-four ranks combine") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
for _, count in ipairs { 1, 100000 } do
  local got = co.allreduce(tensor.full({ count }, actor.rank))
  assert(got:get(1) == 64 * 63 / 2 and got:get(count) == 64 * 63 / 2)
end
assert(co.allgather(tensor.full({ 1 }, actor.rank)):get(64) == 63)
print "combined"
)lua");
  const Finished run = folder.run({"-n", "64", "--log-level", "error", "job.lua"}, 120);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "combined\n");
}

TEST_CASE("a rank that is killed between or in collectives is named once on all others, which go on") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local ffi = require "ffi"
ffi.cdef "int getpid(); int kill(int, int);"
local count, seed = tonumber((...)), tonumber((select(2, ...)))
local last = actor.rng(seed):int(20, 200)
local i, told = 0, {}
while i < 300 do
  i = i + 1
  if actor.id == 2 and i == last then ffi.C.kill(ffi.C.getpid(), 9) end
  local mine = tensor.full({ count }, i)
  local got, message, code = co.allreduce(mine)
  if not got then
    told[#told + 1] = ("call %d: %s (%s)"):format(i, message, code)
    assert(mine:get(1) == i and mine:get(count) == i)
    got = assert(co.allreduce(mine))
  end
  assert(got:get(1) == i * actor.size and got:get(count) == i * actor.size, i)
end
local all = assert(co.allgather(table.concat(told, "; ")))
for r = 2, all.n do assert(all[r] == all[1], all[r]) end
print(actor.size .. " ranks: " .. (all[1]:gsub("call %d+: ", "")))
)lua");
  const std::string count = GENERATE("10", "60000");
  const std::string seed = any_seed();
  const Finished run = folder.run({"-n", "4", "--isolate", "--log-level", "error", "job.lua", count, seed}, 120);
  INFO("seed " << seed << "\n" << run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("3 ranks: allreduce: rank 2 lost (peer_lost)\n"));
}

TEST_CASE("collectives that do not fit together are errors with both ranks and both lines, whatever does not fit") {
  const JobFolder folder;
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const Finished run =
      folder.run(with({"-n", "2"}, with(place, {"--log-level", "error", script("collective_misfits.lua")})), 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "all told\n");
}

TEST_CASE("a collective that does not fit with another ends the run where nobody catches its error") {
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local co, tensor = require("actor").collective, require("actor").tensor
if require("actor").rank == 0 then
  co.allreduce(tensor.ones { 3 })
else
  co.allgather(tensor.ones { 3 })
end
)lua");
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua"}));
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("rank 0 is in allreduce sum float32[3] at job.lua:4") &&
                          Contains("rank 1 is in allgather float32[*] at job.lua:6"));
}

TEST_CASE("a collective that has failed holds up nobody, though another rank has not looked at what was sent to it") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local odd, algorithm, async = tonumber((...)), (select(2, ...)), select(3, ...) == "async"
local large = tensor.ones { 300000 }
local function disagree()
  local options = { algorithm = algorithm, async = async }
  local fine, message = pcall(function()
    local result = co.allreduce(large, actor.rank == odd and "max" or "sum", options)
    return async and result:wait() or result
  end)
  assert(not fine and message:find("ranks disagree on a collective.*actor.pairs, not pairs"), message)
end
for _ = 1, 10 do
  disagree()
  assert(co.barrier())
end
disagree() -- and some are at their end before others have come to it
print "at the end"
)lua");
  const std::string odd = GENERATE("0", "3");
  const std::string algorithm = GENERATE("star", "ring");
  const std::string how = GENERATE("blocking", "async");
  const Finished run = folder.run({"-n", "4", "--log-level", "error", "job.lua", odd, algorithm, how}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "at the end\n");
}

TEST_CASE("wrong arguments of collectives are errors at the user's line") {
  struct Wrong {
    std::string call, says;
  };
  const Wrong wrong = GENERATE(
      Wrong{"co.allreduce(3)", "bad argument 'tensor' to collective.allreduce: expected tensor, got number"},
      Wrong{"co.allreduce(t, 'median')", "expected one of sum, mean, min, max, prod or a function, got 'median'"},
      Wrong{"co.allreduce(t, 'sum', { algorithm = 'tree' })", "there is no 'tree' for it"},
      Wrong{"co.allreduce(t, 'sum', { fast = true })", "unknown option 'fast' to collective.allreduce"},
      Wrong{"co.allreduce(t, 'max', { filter = 'int8' })", "it goes with sum and mean, not with max"},
      Wrong{"co.allreduce(t, 'sum', { filter = 'zip' })", "'zip' is no filter"},
      Wrong{"co.reduce(t, 'sum', 0, { filter = 'int8' })", "unknown option 'filter' to collective.reduce"},
      Wrong{"co.allreduce(t, 'sum', { timeout = -1 })", "bad argument 'timeout' to collective.allreduce"},
      Wrong{"co.allreduce(t, 'sum', { out = require('actor').tensor.ones { 4 } })", "4"},
      Wrong{"co.broadcast(t, 2)", "there is no rank 2 among 2"},
      Wrong{"co.broadcast(t, 1.5)", "bad argument 'root' to collective.broadcast: expected an integer"},
      Wrong{"co.broadcast(print, 0)", "function"}, Wrong{"co.gather(t, 5)", "there is no rank 5 among 2"},
      Wrong{"co.scatter({ 1, 2, 3 })", "expected 2 values, one for each rank, got 3"},
      Wrong{"co.alltoall('x')", "expected table, got string"},
      Wrong{"co.group('g', { 0, 7 })", "there is no rank 7 among 2"}, Wrong{"co.group('', { 0 })", "expected a name"},
      Wrong{"co.allreduce(t, function() error('no sum') end)", "no sum"});
  const JobFolder folder;
  folder.write("job.lua", "local co = require('actor').collective\nlocal t = require('actor').tensor.ones { 3 }\n" +
                              wrong.call + "\n");
  const Finished run = folder.run({"-n", "2", "--log-level", "error", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("job.lua:3: ") && Contains(wrong.says));
}

TEST_CASE("a collective that times out says who is missing, and the next one works") {
  const JobFolder folder;
  folder.write("job.lua", kMeeting + std::string(R"lua(
local co = require("actor").collective
local rank = require("actor").rank
if rank == 1 then await "given up" end
local passed, message, code = co.barrier { timeout = 0.2 }
if rank == 0 then
  print(passed, message, code)
  tell "given up"
end
assert(co.barrier())
print "and on"
)lua"));
  const Words nodes = GENERATE(Words{"-n", "2"}, Words{"-n", "2", "--isolate"});
  const Finished run = folder.run(with(nodes, {"--log-level", "error", "job.lua"}));
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(run.out == "nil\tbarrier: rank 1 has not answered in time\ttimeout\nand on\n");
}

TEST_CASE("a loss that an asynchronous collective has told is not told again by the next one") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local ffi = require "ffi"
ffi.cdef "int getpid(); int kill(int, int);"
assert(co.barrier())
if actor.id == 2 then ffi.C.kill(ffi.C.getpid(), 9) end
-- Started before or after the loss is known: in any case it is this call that tells of it.
local pending = co.allreduce(tensor.full({ 10 }, 1), "sum", { async = true })
print("waited", pending:wait())
print("gathered", assert(co.gather("x", 0, { list = true })) ~= nil)
print("again", assert(co.allreduce(tensor.full({ 10 }, 1))):get(1))
)lua");
  const Finished run = folder.run({"-n", "3", "--isolate", "--log-level", "error", "--print", "all", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string rank : {"[rank 0] ", "[rank 1] "}) {
    CHECK_THAT(run.out, Contains(rank + "waited\tnil\tallreduce: rank 2 lost\tpeer_lost\n"));
    CHECK_THAT(run.out, Contains(rank + "gathered\ttrue\n"));
    CHECK_THAT(run.out, Contains(rank + "again\t2\n"));
  }
}

TEST_CASE("a wait for an asynchronous collective that others will not start is an error that says where they are") {
  struct Elsewhere {
    std::string odd, says;
  };
  const std::vector<Elsewhere> cases = {{"", "rank 1 has come to the end of its script"},
                                        {"co.barrier()", "rank 1 is in barrier at job.lua:6"}};
  const std::array<JobFolder, 2> folders;
  for (size_t i = 0; i < cases.size(); ++i) {
    folders.at(i).write("job.lua",
                        "local actor = require 'actor'\nlocal co = actor.collective\nif actor.rank == 0 then\n"
                        "  co.allgather(1, { async = true }):wait()\nelse\n  " +
                            cases[i].odd + "\nend\n");
  }
  const auto runs = run_together(2 * cases.size(), [&](size_t i) {
    const Words place = i % 2 == 0 ? Words{} : Words{"--isolate"};
    return folders.at(i / 2).run(with({"-n", "2", "--log-level", "error"}, with(place, {"job.lua"})), 60);
  });
  for (size_t i = 0; i < runs.size(); ++i) {
    INFO(runs[i].description);
    CHECK(runs[i].status == 1);
    CHECK_THAT(runs[i].err, Contains("rank 0 is in allgather values at job.lua:4") && Contains(cases[i / 2].says));
  }
}

TEST_CASE("the choice of an algorithm is logged once for each kind of call") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local co, tensor = require("actor").collective, require("actor").tensor
for _ = 1, 5 do
  co.allreduce(tensor.ones { 100 })
  co.allreduce(tensor.ones { 100000 })
  co.allreduce(tensor.ones { 100000 }, "sum", { algorithm = "ring" })
  co.allreduce(tensor.ones { 100 }, "sum", { algorithm = "star", async = true }):wait()
end
)lua");
  const Finished run = folder.run({"-n", "2", "--log-level", "debug", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  for (const std::string choice :
       {"allreduce of 400 bytes among 2 ranks: shared memory", "allreduce of 400000 bytes among 2 ranks: shared memory",
        "allreduce of 400000 bytes among 2 ranks: ring"}) {
    CHECK(count_of(run.err, "rank 0: " + choice) == 1);
    CHECK(count_of(run.err, "rank 1: " + choice) == 1);
  }
  CHECK(count_of(run.err, "allreduce of 400 bytes among 2 ranks: star") == 1);  // the process's courier
}

TEST_CASE(
    "an all-reduce through a filter gives every rank the same bits, wherever the nodes are, and says what it saved") {
  const JobFolder folder;
  folder.write("job.lua", R"lua(
local actor = require "actor"
local co, tensor, filter = actor.collective, actor.tensor, actor.filter
local n = actor.size
local function near(a, b, off)
  local gap = (a - b):abs():max()
  assert((type(gap) == "number" and gap or gap:item()) <= off)
end
local hashes = {}
for _, text in ipairs { "fp16", "int8", "topk:0.1", "topk:0.1+int8", "none" } do
  local sum, exact
  for step = 1, 3 do
    local mine = tensor.normal({ 3000 }, { rng = actor.rng(step, actor.rank) })
    sum = assert(co.allreduce(mine, "mean", { filter = text }))
    exact = assert(co.allreduce(mine, "mean", { reproducible = true }))
    hashes[#hashes + 1] = sum:hash()
  end
  if text == "fp16" then near(sum, exact, 0.01) end
  if text == "int8" then near(sum, exact, 0.2) end
end
-- Error feedback: the mean of many calls comes to what it is a mean of.
local constant, total = tensor.normal({ 200 }, { rng = actor.rng(9, actor.rank) }), tensor.zeros { 200 }
for _ = 1, 300 do
  total = total + co.allreduce(constant, "sum", { filter = filter.topk { fraction = 0.1 }, stream = "constant" })
end
near(total / 300, co.allreduce(constant), 1)
local waits = co.allreduce(constant, "sum", { filter = "int8", async = true })
hashes[#hashes + 1] = waits:wait():hash()
local all = co.allgather(table.concat(hashes, " "))
for r = 2, n do assert(all[r] == all[1]) end
local stats = co.stats()
assert(stats.filter.ratio > 2 and stats.filter.after <= stats.sent and stats.calls > 200, stats.filter.ratio)
print("the same " .. all[1])
)lua");
  std::string first;
  for (const std::string place : {"threads", "isolate", "hosts"}) {
    const Finished run = run_at(place, folder, {"--seed", "5", "job.lua"}, 60);
    INFO(place << "\n" << run.description);
    REQUIRE(run.status == 0);
    CHECK_THAT(run.out, Contains("the same "));
    if (first.empty()) first = run.out;
    CHECK(run.out == first);
  }
}

TEST_CASE("a stream's error feedback is of one call at a time") {
  const JobFolder folder;
  folder.write("job.lua", kMeeting + std::string(R"lua(
local co, tensor = require("actor").collective, require("actor").tensor
local rank = require("actor").rank
local t = tensor.ones { 100 }
local function go(stream) return co.allreduce(t, "sum", { filter = "int8", async = true, stream = stream }) end
if rank == 1 then await "asked" end
local pending = go()
if rank == 0 then
  print(pcall(go))
  tell "asked"
end
local other = go "another"
assert(other:wait():get(1) == 2 and pending:wait():get(1) == 2 and go():wait():get(1) == 2)
)lua"));
  const Finished run = folder.run({"-n", "2", "--log-level", "error", "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("false\t") && Contains("a call under way has the error feedback of this stream"));
}
