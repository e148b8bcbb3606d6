-- collective.lock, and partitions shared under locks: the first argument selects the job. locks_test.cpp has further
-- runs of it.
local actor = require "actor"
local expect = require "expect"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Every node increments a number in a file, which is not atomic: two nodes at a time would lose an increment.
-- case: counter 40 at: threads:{1,2,3,8}
-- case: counter 60 at: isolate hosts
function jobs.counter()
  local c = actor.collective
  local rounds = tonumber(actor.args[2])
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
  c.lock("count", function()
    if not io.open("count") then write(0) end
  end)
  for i = 1, rounds do
    -- The second key changes with each round, so that requests for several keys cross.
    local keys = i % 2 == 0 and { "count", i % 5 } or { i % 5, "count" }
    local one, none, two = c.lock(keys, function()
      local n = read()
      assert(not io.open("inside"))
      assert(io.open("inside", "w")):close()
      os.remove("inside")
      write(n + 1)
      return 1, nil, 2
    end)
    assert(one == 1 and none == nil and two == 2)
  end
  c.barrier()
  expect.same(read(), rounds * actor.size)
end

-- One shared number for each rank: all ranks add to some of them, at their owners. No update is
-- lost, and a value is never torn.
-- case: shared at: threads:{1,2,8} threads isolate hosts
function jobs.shared()
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
  assert(added == expected and one_by_one and updates == 60 * n)
  local own = l.shared_read(3, 100 + actor.rank)
  assert(own.name == "state of " .. actor.rank and l.shared_read(4, 0) == nil)
  c.barrier()
  l.shared_withdraw(3)
  c.barrier()
  expect.raises(function() l.shared_lock(3, { 0 }, { 0 }) end, "lock: rank 0 has not published id 0 of table 3")
end

-- Rank 1 holds "w" until rank 0 has tried to lock it.
-- case: timeout at: threads isolate hosts
function jobs.timeout()
  local c = actor.collective
  local line = debug.getinfo(1, "l").currentline + 2
  if actor.rank == 1 then
    c.lock({ "w", 7 }, function()
      announce("held")
      await("tried")
    end)
  elseif actor.rank == 0 then
    await("held")
    local got, message, code = c.lock("w", function() error("not mine") end, { timeout = 0.05 })
    assert(got == nil and code == "timeout")
    expect.same(message, 'lock: "w" not granted within 0.05 s (held by rank 1 at locks.lua:' .. line .. ")")
    got, message = c.lock(7, function() error("not mine") end, { timeout = 0 })
    assert(got == nil and message:find("lock: 7 not granted within 0 s (held by rank 1", 1, true), message)
    expect.same(c.lock("7", function() return "mine" end, { timeout = 0 }), "mine")
    announce("tried")
    expect.same(c.lock({ 7, "w" }, function() return "mine" end), "mine")
  end
  c.barrier()
end

-- Rank 1 is killed while it holds a lock; the other ranks wait for it.
-- case: {named,partition}_killed kill: stays within: 20 at: isolate
function jobs.named_killed()
  local c = actor.collective
  c.barrier()
  if actor.rank == 1 then c.lock("w", meeting.stay) end
  expect.same(c.lock("w", function() return "free" end), "free")
end

-- The same with a partition of rank 0, which retains its old value.
function jobs.partition_killed()
  local l = require "actor.c.lock"
  if actor.rank == 0 then l.shared_publish(1, 1, "old") end
  actor.collective.barrier()
  local handle, values = l.shared_lock(1, { 1 }, { 0 })
  if actor.rank == 1 then meeting.stay() end
  expect.same(values[1], "old")
  l.shared_release(handle, { "old" })
end

local function thrower()
  local nothing = nil
  return nothing.field
end

function jobs.error_inside()
  if actor.rank == 1 then actor.collective.lock("w", thrower) end
  actor.collective.barrier()
end

-- An error under a lock releases it.
-- case: caught at: threads isolate
function jobs.caught()
  local c, object = actor.collective, {}
  expect.raises(function() c.lock("w", thrower) end, "locks.lua:" .. debug.getinfo(thrower, "S").linedefined + 2 .. ": attempt to index")
  local _, same = pcall(c.lock, "w", function() error(object) end)
  assert(same == object)
  expect.same(c.lock("w", function() return "free" end), "free")
end

-- The script of rank 0 ends without releasing its lock.
-- case: left at: threads isolate
function jobs.left()
  if actor.rank == 0 then
    require("actor.c.lock").acquire({ "w" })
    announce("left")
  else
    await("left")
    expect.same(actor.collective.lock("w", function() return "free" end), "free")
  end
end

-- case: wrong_calls_are_errors_at_the_line_of_the_user at: threads:1
function jobs.wrong_calls_are_errors_at_the_line_of_the_user()
  local c, refused = actor.collective, expect.refused
  local at = "locks.lua:" .. debug.getinfo(1, "l").currentline + 1
  local function nested() c.lock("w", function() c.lock("v", print) end) end
  refused(nested, "lock: rank 0 holds a lock already, taken at " .. at .. "; ask for all keys in one call")
  refused(function() c.lock({ "w", 1.5 }, print) end, "bad argument 'keys[2]' to collective.lock: expected an integer, got 1.5")
  refused(function() c.lock({}, print) end, "bad argument 'keys' to collective.lock: expected at least one key")
  refused(function() c.lock("w") end, "bad argument 'fn' to collective.lock: expected function, got nil")
  refused(function() c.lock("w", print, { timout = 1 }) end, "unknown option 'timout' to collective.lock (known: timeout)")
end

jobs[(...)](select(2, ...))
