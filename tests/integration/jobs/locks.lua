-- Jobs of locks_test.cpp; the first argument selects the job.
local actor = require "actor"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Every node increments a number in a file, which is not atomic: two nodes at a time would lose an increment. `mutual`
-- is 0 if that never happened.
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
  local mutual = 0
  c.lock("count", function()
    if not io.open("count") then write(0) end
  end)
  for i = 1, rounds do
    -- The second key changes with each round, so that requests for several keys cross.
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
end

-- One shared number for each rank: all ranks add to some of them, at their owners.
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
  print("tensors: " .. added - expected, one_by_one)
  print("updates: " .. updates - 60 * n)
  local own = l.shared_read(3, 100 + actor.rank)
  assert(own.name == "state of " .. actor.rank and l.shared_read(4, 0) == nil)
  c.barrier()
  l.shared_withdraw(3)
  c.barrier()
  local ok, message = pcall(l.shared_lock, 3, { 0 }, { 0 })
  print("withdrawn: " .. tostring(ok) .. " " .. tostring(message):gsub("^.-: ", ""))
end

-- Rank 1 holds "w" until rank 0 has tried to lock it; rank 0 prints its results.
function jobs.timeout()
  local c = actor.collective
  if actor.rank == 1 then
    c.lock({ "w", 7 }, function()
      announce("held")
      await("tried")
    end)
  elseif actor.rank == 0 then
    await("held")
    print("late:", c.lock("w", function() error("not mine") end, { timeout = 0.05 }))
    print("at once:", c.lock(7, function() error("not mine") end, { timeout = 0 }))
    print("free:", c.lock("7", function() return "mine" end, { timeout = 0 }))
    announce("tried")
    print("then:", c.lock({ 7, "w" }, function() return "mine" end))
  end
  c.barrier()
end

-- Rank 1 is killed while it holds a lock and a partition of rank 0. The other ranks wait for both.
function jobs.killed()
  local c, l = actor.collective, require "actor.c.lock"
  local process = io.open("/proc/self/stat"):read("*n")
  if actor.rank == 0 then l.shared_publish(1, 1, "old") end
  c.barrier()
  if actor.rank == 1 then
    if actor.args[2] == "named" then
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
    if actor.args[2] == "named" then
      print("named:", c.lock("w", function() return "free" end))
    else
      local handle, values = l.shared_lock(1, { 1 }, { 0 })
      print("shared: " .. values[1])
      l.shared_release(handle, { "old" })
    end
  end
end

function jobs.errors()
  local c = actor.collective
  local what = actor.args[2]
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
    -- The script ends without releasing its lock.
    if actor.rank == 0 then
      local l = require "actor.c.lock"
      l.acquire({ "w" })
      announce("left")
    else
      await("left")
      print("after:", c.lock("w", function() return "free" end))
    end
  end
end

jobs[(...)](select(2, ...))
