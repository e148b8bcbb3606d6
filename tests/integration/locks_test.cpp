// collective.lock, and partitions that are shared under locks, in whole runs.

#include <csignal>

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

namespace {

// Every node adds one to a number in a file, without care: two at a time would lose one. `mutual` is 0 where that never
// happened.
constexpr const char* kCounter = R"(
local actor = require "actor"
local c = actor.collective
local rounds = tonumber(actor.args[1])
local function read()
  local file = assert(io.open("count"))
  local n = file:read("*n")
  file:close()
  return n
end
local function write(n)
  local file = assert(io.open("count", "w"))
  file:write(n)
  file:close()
end
local mutual = 0
c.lock("count", function()
  if not io.open("count") then write(0) end
end)
for i = 1, rounds do
  -- The second key is another on each round, so that requests for several keys cross.
  local keys = i % 2 == 0 and { "count", i % 5 } or { i % 5, "count" }
  local one, none, two = c.lock(keys, function()
    local n = read()
    if io.open("inside") then mutual = mutual + 1 end
    assert(io.open("inside", "w")):close()
    os.remove("inside")
    write(n + 1)
    return 1, nil, 2
  end)
  assert(one == 1 and none == nil and two == 2)
end
local sum = c.allreduce(actor.tensor.full({ 1 }, mutual))
print("mutual: " .. sum:item())
print("count: " .. read())
)";

// Shared numbers, one of each rank: everybody adds to some of them, at their owners.
constexpr const char* kShared = R"(
local actor = require "actor"
local c, l = actor.collective, require "actor.c.lock"
local n = actor.size
l.shared_publish(3, actor.rank, actor.tensor.zeros(4))
l.shared_publish(3, 100 + actor.rank, { name = "state of " .. actor.rank, updates = 0 })
c.barrier()
for i = 1, 60 do
  local one, other = (actor.rank + i) % n, (actor.rank * 3 + i) % n
  local ids, owners = { one, 100 + one }, { one, one }
  if other ~= one then ids[3], owners[3] = other, other end
  local handle, values = l.shared_lock(3, ids, owners)
  values[1]:add_(1)
  values[2].updates = values[2].updates + 1
  if values[3] then values[3] = values[3] + 1 end
  l.shared_release(handle, values)
end
c.barrier()
local ids, owners = {}, {}
for rank = 0, n - 1 do ids[#ids + 1], owners[#owners + 1] = rank, rank end
for rank = 0, n - 1 do ids[#ids + 1], owners[#owners + 1] = 100 + rank, rank end
local handle, values = l.shared_lock(3, ids, owners)
local added, updates, one_by_one = 0, 0, true
for i = 1, n do
  added = added + values[i]:sum()
  one_by_one = one_by_one and values[i]:min() == values[i]:max()
  updates = updates + values[n + i].updates
  assert(values[n + i].name == "state of " .. (i - 1))
end
l.shared_release(handle)
local expected = 0
for rank = 0, n - 1 do
  for i = 1, 60 do expected = expected + ((rank + i) % n ~= (rank * 3 + i) % n and 8 or 4) end
end
c.barrier()
print("tensors: " .. added - expected, one_by_one)
print("updates: " .. updates - 60 * n)
local own = l.shared_read(3, 100 + actor.rank)
assert(own.name == "state of " .. actor.rank and l.shared_read(4, 0) == nil)
c.barrier()
l.shared_withdraw(3)
c.barrier()
local ok, message = pcall(l.shared_lock, 3, { 0 }, { 0 })
print("withdrawn: " .. tostring(ok) .. " " .. tostring(message):gsub("^.-: ", ""))
)";

// Rank 1 holds "w" until rank 0 has tried; what rank 0 sees of it.
constexpr const char* kTimeout = R"(
local actor = require "actor"
local c = actor.collective
if actor.rank == 1 then
  c.lock({ "w", 7 }, function()
    tell("held")
    await("tried")
  end)
elseif actor.rank == 0 then
  await("held")
  print("late:", c.lock("w", function() error("not mine") end, { timeout = 0.05 }))
  print("at once:", c.lock(7, function() error("not mine") end, { timeout = 0 }))
  print("free:", c.lock("7", function() return "mine" end, { timeout = 0 }))
  tell("tried")
  print("then:", c.lock({ 7, "w" }, function() return "mine" end))
end
c.barrier()
)";

// Rank 1 is killed while it holds a lock and a partition of rank 0, for which the others wait.
constexpr const char* kKilled = R"(
local actor = require "actor"
local c, l = actor.collective, require "actor.c.lock"
local process = io.open("/proc/self/stat"):read("*n")
if actor.rank == 0 then l.shared_publish(1, 1, "old") end
c.barrier()
if actor.rank == 1 then
  if actor.args[1] == "named" then
    c.lock("w", function()
      actor.log.info("holds in process %d.", process)
      while true do end
    end)
  else
    l.shared_lock(1, { 1 }, { 0 })
    actor.log.info("holds in process %d.", process)
    while true do end
  end
else
  if actor.args[1] == "named" then
    print("named:", c.lock("w", function() return "free" end))
  else
    local handle, values = l.shared_lock(1, { 1 }, { 0 })
    print("shared: " .. values[1])
    l.shared_release(handle, { "old" })
  end
end
)";

constexpr const char* kErrors = R"(
local actor = require "actor"
local c = actor.collective
local what = actor.args[1]
local function thrower()
  local nothing = nil
  return nothing.field
end
if what == "inside" then
  if actor.rank == 1 then c.lock("w", thrower) end
  c.barrier()
elseif what == "caught" then
  local ok, message = pcall(c.lock, "w", thrower)
  local object = {}
  local _, same = pcall(c.lock, "w", function() error(object) end)
  print("caught: " .. tostring(ok) .. " " .. message, same == object)
  print("again:", c.lock("w", function() return "free" end))
elseif what == "nested" then
  c.lock("w", function() c.lock("v", print) end)
elseif what == "key" then
  c.lock({ "w", 1.5 }, print)
elseif what == "keys" then
  c.lock({}, print)
elseif what == "function" then
  c.lock("w")
elseif what == "option" then
  c.lock("w", print, { timout = 1 })
elseif what == "left" then
  -- The script ends and has given nothing back.
  if actor.rank == 0 then
    local l = require "actor.c.lock"
    l.acquire({ "w" })
    tell("left")
  else
    await("left")
    print("after:", c.lock("w", function() return "free" end))
  end
end
)";

}  // namespace

TEST_CASE("a counter without care is counted right under a lock, wherever the nodes are") {
  const JobFolder folder;
  folder.write("job.lua", kCounter);
  for (const std::string nodes : {"1", "2", "3", "8"}) {
    std::filesystem::remove(folder.path() / "count");
    const Finished run = folder.run({"-n", nodes, "job.lua", "40"});
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "mutual: ") == "0");
    CHECK(line_after(run.out, "count: ") == std::to_string(40 * std::stoi(nodes)));
  }
  for (const std::string place : {"isolate", "hosts"}) {
    std::filesystem::remove(folder.path() / "count");
    const Finished run = run_at(place, folder, {"job.lua", "60"});
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "mutual: ") == "0");
    CHECK(line_after(run.out, "count: ") == "180");
  }
}

TEST_CASE("no update of what is shared is lost, and a value is never half an old one") {
  const JobFolder folder;
  folder.write("job.lua", kShared);
  const std::string place = GENERATE(as<std::string>(), "1", "2", "8", "threads", "isolate", "hosts");
  const Finished run = place.size() == 1 ? folder.run({"-n", place, "job.lua"}) : run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "tensors: ") == "0\ttrue");
  CHECK(line_after(run.out, "updates: ") == "0");
  CHECK(line_after(run.out, "withdrawn: ") == "false lock: rank 0 has not published id 0 of table 3");
}

TEST_CASE("a lock that is not to be had in time says who holds it and where") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kTimeout);
  const std::string place = GENERATE(from_range(places()));
  const Finished run = run_at(place, folder, {"job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(line_after(run.out, "late:") ==
        "\tnil\tlock: \"w\" not granted within 0.05 s (held by rank 1 at job.lua:17)\ttimeout");
  CHECK_THAT(line_after(run.out, "at once:"), Contains("lock: 7 not granted within 0 s (held by rank 1"));
  CHECK(line_after(run.out, "free:") == "\tmine");
  CHECK(line_after(run.out, "then:") == "\tmine");
}

TEST_CASE("a lock whose holder is killed goes to the next, with the old values") {
  const JobFolder folder;
  folder.write("job.lua", kKilled);
  const std::string what = GENERATE(as<std::string>(), "named", "shared");
  Process run = folder.start({"-n", "3", "--isolate", "--print", "all", "job.lua", what});
  ::kill(process_of(run, "holds"), SIGKILL);
  const auto status = run.wait(20);
  INFO(run.describe());
  CHECK(status == 0);
  CHECK(count_of(run.out(), what == "named" ? "named:\tfree" : "shared: old") == 2);
}

TEST_CASE("an error under a lock gives it back and goes on as it was") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kErrors);
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate");
  const Finished inside = run_at(place, folder, {"job.lua", "inside"});
  INFO(inside.description);
  CHECK(inside.status == 1);
  CHECK_THAT(inside.err, Contains("rank 1: job.lua:19: attempt to index local 'nothing' (a nil value)"));
  CHECK_THAT(inside.err, Contains("job.lua:19: in function"));  // the traceback is that of the error
  const Finished caught = run_at(place, folder, {"job.lua", "caught"});
  INFO(caught.description);
  CHECK(caught.status == 0);
  CHECK_THAT(line_after(caught.out, "caught: "), Contains("false job.lua:19: attempt to index") && Contains("true"));
  CHECK(line_after(caught.out, "again:") == "\tfree");
  const Finished left = run_at(place, folder, {"--print", "all", "job.lua", "left"});
  INFO(left.description);
  CHECK(left.status == 0);
  CHECK(count_of(left.out, "after:\tfree") == 2);
}

TEST_CASE("wrong calls of lock say what is wrong at the user's line") {
  const JobFolder folder;
  folder.write("job.lua", std::string(kMeeting) + kErrors);
  const auto [what, message] = GENERATE(table<std::string, std::string>({
      {"nested", "job.lua:31: lock: rank 0 holds a lock already, taken at job.lua:31; ask for all keys in one call"},
      {"key", "job.lua:33: bad argument 'keys[2]' to collective.lock: expected an integer, got 1.5"},
      {"keys", "job.lua:35: bad argument 'keys' to collective.lock: expected at least one key"},
      {"function", "job.lua:37: bad argument 'fn' to collective.lock: expected function, got nil"},
      {"option", "job.lua:39: unknown option 'timout' to collective.lock (known: timeout)"},
  }));
  const Finished run = folder.run({"-n", "1", "job.lua", what});
  INFO(run.description);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains(message));
}
