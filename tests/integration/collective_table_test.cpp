// collective.table in whole runs: random operations against a model, what goes wrong, a rank that is killed, and
// partitions that are used under locks.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Each wrong call fails on every rank with the same message, and no table has changed by it.
constexpr const char* kWrong = R"(
local actor = require "actor"
local c, tensor = actor.collective, actor.tensor
local rank = actor.rank
local function filled(options)
  local t = c.table(options)
  t:set(1, tensor.full({ 2 }, rank))
  t:set(10 + rank, rank)
  return t
end
local function text(t)
  local out = {}
  for id, value in t:pairs() do out[#out + 1] = id .. "=" .. tostring(value) end
  return table.concat(out, " ")
end
local function fails(name, t, fn)
  local before = text(t)
  local fine, message = pcall(fn, t)
  assert(not fine, name .. " has not failed")
  assert(text(t) == before, name .. " has changed the table: " .. before .. " -> " .. text(t))
  local all = c.allgather((message:gsub("^job.lua:%d+: ", "")))
  for i = 1, all.n do assert(all[i] == all[1], "not the same everywhere: " .. all[i] .. " / " .. all[1]) end
  print(name .. ": " .. all[1])
end
local function regroup(t) t:regroup() end
fails("outside", filled { partitioner = function(id, n) return id == 11 and n or 0 end }, regroup)
fails("fraction", filled { partitioner = function() return 0.5 end }, regroup)
fails("partitioner", filled { partitioner = function() error("no owner", 0) end }, regroup)
local shapes = filled()
shapes:set(1, tensor.zeros(2 + rank))
fails("shapes", shapes, regroup)
fails("shapes of all", shapes, function(t) t:allreduce() end)
fails("shapes gathered", shapes, function(t) t:allgather() end)
fails("shapes at the root", shapes, function(t) t:reduce(1) end)
local kinds = filled()
kinds:set(1, { rank })
fails("kinds", kinds, regroup)
fails("function", filled { combiner = function() error("not these", 0) end }, regroup)
fails("nothing", filled { combiner = function() end }, regroup)
fails("nothing shared", filled { combiner = function() end, shared = true }, regroup)
fails("unknown", filled(), function(t) t:pull(c.table()) end)
fails("rotate", filled(), function(t) t:rotate(function() return 1 end) end)
local global = filled { partitioner = function() return "a" end }
fails("push", filled(), function(t) t:push(global) end)
-- Some ranks give a permutation, others none: a mismatch, not a hang.
fails("one is none", filled(), function(t) t:rotate(rank == 1 and {} or { 1, 2, 0 }) end)
fails("two", filled(), function(t) t:rotate(rank == 1 and { 2, 0, 1 } or { 1, 2, 0 }) end)
fails("other", filled(), function(t) if rank == 1 then t:regroup() else t:allgather() end end)
fails("combiner", filled { combiner = rank == 1 and "max" or "sum" }, regroup)
fails("name", filled { name = rank == 1 and "w" or nil }, function(t) t:broadcast(1) end)
print("shared:", select(2, pcall(function() filled():lock(1, print) end)))
print("late:", filled():regroup({ timeout = 5 }) ~= nil)
)";

// The rank that is killed has not come to the call for which the others wait; they go on without it.
constexpr const char* kKilled = R"(
local actor = require "actor"
local c, tensor = actor.collective, actor.tensor
local process = io.open("/proc/self/stat"):read("*n")
local operation, shared = ...
local t, global = c.table { shared = shared == "shared" }, c.table()
t:set(actor.rank, tensor.full({ 1000 }, actor.rank))
t:set(7, actor.rank)
t:push(global)
if shared then t:regroup() end
local ids, owned = table.concat(t:ids(), " "), t:get(7)
if actor.rank == 2 then
  actor.log.info("stays in process %d.", process)
  while true do end
end
local calls = {
  regroup = function() return t:regroup() end,
  allreduce = function() return t:allreduce() end,
  rotate = function() return t:rotate() end,
  push = function() return t:push(global) end,
  pull = function() return t:pull(global) end,
  broadcast = function() return t:broadcast(1) end,
  sync = function() return t:sync() end,
}
print("lost:", calls[operation]())
assert(table.concat(t:ids(), " ") == ids and t:get(7) == owned)
if t:get(1) then assert(t:get(1):sum() == 1000) end
assert(t:regroup() == t)
for _, id in ipairs(t:ids()) do assert(id % 2 == actor.rank) end
local sum = t:copy():allreduce():get(7)
print("then: " .. tostring(sum))
)";

// Partitions that all ranks change at the same time: each is in its update while the others are in theirs.
constexpr const char* kUpdates = R"lua(
local actor = require "actor"
local c, tensor = actor.collective, actor.tensor
local rank, n = actor.rank, actor.size
local t = c.table { shared = true, combiner = "max" }
for id = 0, 3 do t:set(id, tensor.full({ 2, 3 }, id, id == 3 and { dtype = "float64" } or nil)) end
t:set(9, 9)
assert(t:regroup())
local got, none, last = t:update({ 1, 3, 1 }, function(values)
  values[1]:add_(2 ^ rank)
  values[3] = values[3] + 2 ^ rank
  tell("in " .. rank)
  for r = 0, n - 1 do await("in " .. r) end
  return 7, nil, "last"
end)
assert(got == 7 and none == nil and last == "last")
for i = 1, 50 do
  assert(t:update(i % 3, function(values)
    values[i % 3]:add_(1)
    return true
  end))
end
-- What goes wrong adds nothing.
for why, fn in pairs {
  ["not this"] = function(v) v[0]:fill_(-1) error("not this", 0) end,
  ["id 5 was given a value but is not one of those asked for"] = function(v) v[5] = 1 end,
  ["what partition 0 has become is not laid out as what it was"] = function(v) v[0] = tensor.zeros { 3, 2 } end,
} do
  local fine, message = pcall(t.update, t, 0, fn)
  assert(not fine and message:find(why, 1, true), message)
end
local fine, message = pcall(t.update, t, 9, function() end)
assert(not fine and message:find("table:update: partition 9 is no tensor"), message)
fine, message = pcall(c.table().update, c.table(), 0, function() end)
assert(not fine and message:find("table:update: the table is not shared", 1, true), message)
assert(t:sync())
assert(t:unshare() and t:allgather())
local all = 2 ^ n - 1
local counts = { [0] = 16 * n, 17 * n, 17 * n, 0 }
for id = 0, 3 do
  local due = id + (id % 2 == 1 and all or 0) + counts[id]
  assert(t:get(id):min() == due and t:get(id):max() == due, ("%d: %g, not %g"):format(id, t:get(id):min(), due))
end
-- What tensors have and tables have not.
for name, instead in pairs { gather = "reduce(root)", scatter = "regroup()", alltoall = "regroup()", reduce_scatter = "regroup()" } do
  local worked, why = pcall(t[name], t)
  assert(not worked and why:find("a table has no " .. name .. ": " .. instead, 1, true), why)
end
print("updates add up")
)lua";

// Partitions that all ranks change under locks, several at a time.
constexpr const char* kLocks = R"(
local actor = require "actor"
local c, tensor = actor.collective, actor.tensor
local rank, n, rounds = actor.rank, actor.size, 40
local t = c.table { shared = true, partitioner = function(id, n) return (id * 3 + 1) % n end }
for id = 0, 5 do t:add(id, tensor.full({ 8 }, 1)) end
t:add(100, { text = "", updates = 0 }) -- combined by nobody: only one rank may give it
if rank > 0 then t:remove(100) end
assert(t:regroup() == t)
for i = 1, rounds do
  local one, other = i % 6, (i * 5 + rank) % 6
  local got, none, last = t:lock({ one, other, 100, one }, function(values)
    local before = values[one]:sum()
    values[one]:add_(1)
    assert(values[one]:sum() == before + 8)
    if other ~= one then values[other] = values[other] + 1 end
    values[100].updates = values[100].updates + 1
    return i, nil, "last"
  end)
  assert(got == i and none == nil and last == "last")
end
local expected = 6 * n * 8
for r = 0, n - 1 do
  for i = 1, rounds do expected = expected + (i % 6 == (i * 5 + r) % 6 and 8 or 16) end
end
-- An error under the lock, and a value for what is not locked, leave all as it was.
for _, fn in ipairs { function(v) v[0]:fill_(-1) error("not this", 0) end, function(v) v[0]:fill_(-1) v[5] = 1 end } do
  local fine, message = pcall(t.lock, t, 0, fn)
  assert(not fine and (message == "not this" or message:find("id 5 was given a value but is not one of those asked for")), message)
end
assert(t:sync() == t)
-- The owners see the newest; what get() gives is a copy.
for id, value in t:pairs() do
  if id < 6 then value:fill_(0) end
end
local total, updates = 0, 0
local all = t:copy():allreduce()
for id = 0, 5 do
  assert(all:get(id):min() == all:get(id):max())
  total = total + all:get(id):sum()
end
print("total: " .. total - expected, "updates: " .. all:get(100).updates - n * rounds)
-- A push into a shared table, and a regroup of it, keep what was written before them.
local more = c.table()
more:set(3, tensor.full({ 8 }, 2))
t:lock(3, function(values) values[3]:add_(1) end)
assert(more:push(t) == more)
t:lock(3, function(values) values[3]:add_(1) end)
assert(t:regroup() == t)
t:lock(3, function(values) values[3]:add_(1) end)
assert(more:pull(t) == more)
print("pushed: " .. more:get(3):sum() - all:get(3):sum() - 5 * 8 * n)
local fine, message = pcall(t.set, t, 3, 1)
assert(not fine and message:find("shared since its regroup"), message)
assert(t:unshare() == t)
t:set(3, 1)
print("again:", t:unshare() == t, pcall(t.lock, t, 3, print))
)";

// Rank 1 comes when the others have given up.
constexpr const char* kLate = R"(
local actor = require "actor"
local c = actor.collective
local operation = ...
local t, global = c.table(), c.table()
t:set(actor.rank, "of " .. actor.rank)
t:push(global)
if actor.rank == 1 then await("given up") end
local timeout = { timeout = actor.rank ~= 1 and 0.1 or nil }
local calls = {
  regroup = function() return t:regroup(timeout) end,
  allreduce = function() return t:allreduce(timeout) end,
  rotate = function() return t:rotate(nil, timeout) end,
  pull = function() return t:pull(global, timeout) end,
  rotator = function() return c.rotator { table = t }:round(print, timeout) end,
}
print("late:", calls[operation]())
if actor.rank == 0 then tell("given up") end
assert(t:size() == 1 and t:get(actor.rank) == "of " .. actor.rank)
assert(t:allgather() == t and t:size() == actor.size)
print("then all")
)";

// Two groups, each with a shared table, a rotation, and schedulers of its own, at the same time.
constexpr const char* kGroups = R"(
local actor = require "actor"
local c = actor.collective
local odd, even = {}, {}
for rank = 0, actor.size - 1 do table.insert(rank % 2 == 1 and odd or even, rank) end
local mine = actor.rank % 2 == 1 and odd or even
local group = c.group(actor.rank % 2 == 1 and "odd" or "even", mine)
local n, place = group:size(), group:rank()
local t = c.table { group = group, shared = true, name = "counts" }
for id = 0, 4 do t:add(id, actor.rank) end
assert(t:regroup() == t)
local sum = 0
for _, rank in ipairs(mine) do sum = sum + rank end
for id, value in t:pairs() do assert(id % n == place and value == sum) end
group:barrier()
for i = 1, 30 do t:lock({ i % 5, (i + 2) % 5 }, function(v) v[i % 5] = v[i % 5] + 1 end) end
assert(t:allreduce() == t)
for id = 0, 4 do assert(t:get(id) == sum + 6 * n) end
t:clear():set(place, "of " .. actor.rank)
assert(t:rotate() == t and t:get((place - 1) % n) == "of " .. mine[(place - 1) % n + 1])
assert(c.rotator { table = t }:round(function(slice, visit) assert(visit.rank == place) end))
local results = c.scheduler { dynamic = { 1, 2, 3, 4, 5 }, group = group }:run(function(i) return i * 10 end)
assert(results[5] == 50)
local other = c.table()
local fine, message = pcall(t.push, t, other)
assert(not fine and message:find("it is another group's"), message)
c.barrier()
print("groups are apart")
)";

// Rank 1 has a lock; rank 2 owns another partition and is killed.
constexpr const char* kLockFails = R"(
local actor = require "actor"
local c = actor.collective
local process = io.open("/proc/self/stat"):read("*n")
local t = c.table { shared = true }
t:set(actor.rank, actor.rank)
t:regroup()
if actor.rank == 2 then
  await("tried")
  actor.log.info("stays in process %d.", process)
  while true do end
elseif actor.rank == 1 then
  t:lock(0, function() tell("held") await("tried") end)
  print("nothing")
else
  await("held")
  print("late:", t:lock({ 0, 1 }, print, { timeout = 0.05 }))
  tell("tried")
end
repeat
  local got, message, code = t:lock(2, function() return true end)
  if not got then print("lost:", got, message, code) end
until not got
print("left: " .. t:lock({ 0, 1 }, function(values) return values[0] + values[1] end))
)";

std::string script(const char* name) { return (source_dir() / "tests/integration" / name).string(); }

}  // namespace

TEST_CASE("random operations on tables give what a plain Lua model gives, for any number of ranks") {
  const JobFolder folder;
  const int ranks = GENERATE(range(1, 10));
  const Words place = GENERATE(Words{}, Words{"--isolate"});
  const std::string seed = std::to_string((place.empty() ? 20 : 40) + ranks);
  const Words words = {"--log-level", "error", script("collective_table_model.lua"), seed, ranks < 4 ? "50" : "20"};
  const Finished run = folder.run(with({"-n", std::to_string(ranks)}, with(place, words)), 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("cases are as the model says"));
}

TEST_CASE("random operations on tables give what a plain Lua model gives on three hosts") {
  const JobFolder folder;
  const std::string nodes = GENERATE("1", "2", "3");
  Hosts hosts(folder, 3, {"-n", nodes, script("collective_table_model.lua"), "6" + nodes, "20"});
  const std::vector<int> codes = hosts.wait(60);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>(3, 0));
  CHECK_THAT(hosts.out(), Contains("cases are as the model says"));
}

TEST_CASE("several ranks update a shared partition at the same time, and what each changes is added") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kUpdates);
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Finished run = run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("updates add up"));
}

TEST_CASE("what goes wrong with a table on one rank is told on all, and no table has changed") {
  const JobFolder folder;
  folder.write("job.lua", kWrong);
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Finished run = run_at(place, folder, {"job.lua"}, 60);
  INFO(run.description);
  REQUIRE(run.status == 0);
  const auto said = [&](const std::string& name) { return line_after(run.out, name + ": "); };
  CHECK(said("outside") == "table:regroup: rank 1: the partitioner gives id 11 to 3, which is no rank from 0 to 2");
  CHECK_THAT(said("fraction"), Contains("gives id 1 to 0.5, which is no rank"));
  CHECK(said("partitioner") == "table:regroup: rank 0: the partitioner failed for id 1: no owner");
  CHECK(said("shapes") == "table:regroup: rank 1: partition 1: float32[2] and float32[3] do not fit together");
  CHECK_THAT(said("shapes of all"), Contains("partition 1: float32[2] and float32[3] do not fit together"));
  CHECK_THAT(said("shapes gathered"), Contains("table:allgather: rank 0: partition 1: float32[2] and float32[3]"));
  CHECK_THAT(said("shapes at the root"), Contains("table:reduce: rank 1: partition 1: float32[2] and float32[3]"));
  CHECK_THAT(said("kinds"), Contains("the combiner 'sum' is for tensors and numbers, not for a table"));
  CHECK_THAT(said("function"), Contains("partition 1: the combiner failed: not these"));
  CHECK_THAT(said("nothing"), Contains("the combiner gave nil"));
  CHECK_THAT(said("nothing shared"), Contains("the combiner gave nil"));
  CHECK(said("unknown") == "table:pull: rank 0: it has no partition 12, which rank 2 asks for");
  CHECK(said("rotate") == "bad argument 'permutation' to table:rotate: it sends both rank 0 and rank 1 to rank 1");
  CHECK_THAT(said("push"), Contains("table:push: rank 0: the partitioner gives id 1 to a, which is no rank"));
  CHECK_THAT(said("one is none"), Contains("by no permutation: it has no target for rank 0 at job.lua:") &&
                                      Contains("by 1,2,0 at job.lua:"));
  CHECK_THAT(said("two"), Contains("rank 0 is in rotate of a table (sum) by 1,2,0 at job.lua:") &&
                              Contains("rank 1 is in rotate of a table (sum) by 2,0,1 at job.lua:"));
  CHECK_THAT(said("other"), Contains("rank 0 is in allgather of a table (sum) at job.lua:") &&
                                Contains("rank 1 is in regroup of a table (sum) at job.lua:"));
  CHECK_THAT(said("combiner"), Contains("regroup of a table (max)"));
  CHECK_THAT(said("name"), Contains("rank 0 is in broadcast of a table (sum) from rank 1 at job.lua:") &&
                               Contains("rank 1 is in broadcast of table 'w' (sum) from rank 1 at job.lua:"));
  CHECK_THAT(line_after(run.out, "shared:"), Contains("table:lock: the table is not shared"));
  CHECK(line_after(run.out, "late:") == "\ttrue");
}

TEST_CASE("a rank that is killed in an operation on tables leaves those of the others as they were") {
  const JobFolder folder;
  folder.write("job.lua", kKilled);
  const auto [operation, kind] = GENERATE(table<std::string, std::string>({{"regroup", ""},
                                                                           {"allreduce", ""},
                                                                           {"rotate", ""},
                                                                           {"push", ""},
                                                                           {"pull", ""},
                                                                           {"broadcast", ""},
                                                                           {"regroup", "shared"},
                                                                           {"sync", "shared"}}));
  Words words = {"-n", "3", "--isolate", "--print", "all", "job.lua", operation};
  if (!kind.empty()) words.push_back(kind);
  Process run = folder.start(words);
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  // A table that is shared is found to be whole before it is regrouped.
  CHECK(count_of(run.out(), "lost:\tnil\t" + operation + ": rank 2 lost\tpeer_lost") == 2);
  CHECK(count_of(run.out(), kind.empty() ? "then: 1" : "then: 3") == 2);
}

TEST_CASE("an operation on tables that some give up fails on all and leaves the tables as they were") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kLate);
  const std::string operation = GENERATE(as<std::string>(), "regroup", "allreduce", "rotate", "pull", "rotator");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Finished run = run_at(place, folder, {"--print", "all", "job.lua", operation});
  INFO(run.description);
  CHECK(run.status == 0);
  // Who is named depends on who gives up first: ranks 0 and 2 may be late for each other on a slow machine.
  CHECK(count_of(run.out, "late:\tnil\t" + operation + ": rank") == 3);
  CHECK(count_of(run.out, "not answered in time") == 3);
  CHECK(count_of(run.out, "\ttimeout") == 3);
  CHECK(count_of(run.out, "then all") == 3);
}

TEST_CASE("no update of a table's partitions under locks is lost, wherever the nodes are") {
  const JobFolder folder;
  folder.write("job.lua", kLocks);
  const std::string place = GENERATE(as<std::string>(), "1", "2", "8", "threads", "isolate", "hosts");
  const Finished run =
      place.size() == 1 ? folder.run({"-n", place, "job.lua"}, 60) : run_at(place, folder, {"job.lua"}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "total: ") == "0\tupdates: 0");
  CHECK(line_after(run.out, "pushed: ") == "0");
  CHECK_THAT(line_after(run.out, "again:"), Contains("true\tfalse") && Contains("the table is not shared"));
}

TEST_CASE("a lock on a table's partitions says who holds them and which owner is lost") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kLockFails);
  Process run = folder.start({"-n", "3", "--isolate", "--print", "all", "job.lua"});
  ::kill(process_of(run, "stays"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK_THAT(run.out(), Contains("not granted within 0.05 s (held by rank 1 at job.lua:") && Contains("timeout"));
  CHECK(count_of(run.out(), "lost:\tnil\tlock: rank 2 lost\tpeer_lost") == 2);
  CHECK(count_of(run.out(), "left: 1") == 2);
}

TEST_CASE("tables of two groups do not meet") {
  const JobFolder folder;
  folder.write("job.lua", kGroups);
  const std::string place = GENERATE(as<std::string>(), "5", "threads", "isolate", "hosts");
  const Finished run =
      place.size() == 1 ? folder.run({"-n", place, "job.lua"}, 60) : run_at(place, folder, {"job.lua"}, 60);
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "groups are apart") == 1);
}
