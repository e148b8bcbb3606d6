-- Jobs of collective_table_test.cpp; the first argument selects the job.
local actor = require "actor"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Each wrong call fails on every rank with the same message, and changes no table.
function jobs.wrong()
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
    local all = c.allgather((message:gsub("^collective_table.lua:%d+: ", "")))
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
  -- Some ranks pass a permutation, others none: a mismatch, not a hang.
  fails("one is none", filled(), function(t) t:rotate(rank == 1 and {} or { 1, 2, 0 }) end)
  fails("two", filled(), function(t) t:rotate(rank == 1 and { 2, 0, 1 } or { 1, 2, 0 }) end)
  fails("other", filled(), function(t) if rank == 1 then t:regroup() else t:allgather() end end)
  fails("combiner", filled { combiner = rank == 1 and "max" or "sum" }, regroup)
  fails("name", filled { name = rank == 1 and "w" or nil }, function(t) t:broadcast(1) end)
  print("shared:", select(2, pcall(function() filled():lock(1, print) end)))
  print("late:", filled():regroup({ timeout = 5 }) ~= nil)
end

-- The killed rank has not made the call that the other ranks wait in; they continue without it.
function jobs.killed(...)
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
end

-- Partitions that all ranks change at the same time: the updates of different ranks overlap.
function jobs.updates()
  local c, tensor = actor.collective, actor.tensor
  local rank, n = actor.rank, actor.size
  local t = c.table { shared = true, combiner = "max" }
  for id = 0, 3 do t:set(id, tensor.full({ 2, 3 }, id, id == 3 and { dtype = "float64" } or nil)) end
  t:set(9, 9)
  assert(t:regroup())
  local got, none, last = t:update({ 1, 3, 1 }, function(values)
    values[1]:add_(2 ^ rank)
    values[3] = values[3] + 2 ^ rank
    announce("in " .. rank)
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
  -- A failed update adds nothing.
  for why, fn in pairs {
    ["not this"] = function(v) v[0]:fill_(-1) error("not this", 0) end,
    ["id 5 was given a value but was not requested"] = function(v) v[5] = 1 end,
    ["the new value of partition 0 differs from the old value in dtype"] = function(v) v[0] = tensor.zeros { 3, 2 } end,
  } do
    local fine, message = pcall(t.update, t, 0, fn)
    assert(not fine and message:find(why, 1, true), message)
  end
  local fine, message = pcall(t.update, t, 9, function() end)
  assert(not fine and message:find("table:update: partition 9 is not a tensor"), message)
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
  -- Operations of tensors that tables do not have.
  for name, instead in pairs { gather = "reduce(root)", scatter = "regroup()", alltoall = "regroup()", reduce_scatter = "regroup()" } do
    local worked, why = pcall(t[name], t)
    assert(not worked and why:find("a table has no " .. name .. ": " .. instead, 1, true), why)
  end
  print("updates add up")
end

-- Partitions that all ranks change under locks, several at a time.
function jobs.locks()
  local c, tensor = actor.collective, actor.tensor
  local rank, n, rounds = actor.rank, actor.size, 40
  local t = c.table { shared = true, partitioner = function(id, n) return (id * 3 + 1) % n end }
  for id = 0, 5 do t:add(id, tensor.full({ 8 }, 1)) end
  t:add(100, { text = "", updates = 0 }) -- not combined: only one rank may set it
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
  -- An error under the lock, or a value for an unlocked partition, changes nothing.
  for _, fn in ipairs { function(v) v[0]:fill_(-1) error("not this", 0) end, function(v) v[0]:fill_(-1) v[5] = 1 end } do
    local fine, message = pcall(t.lock, t, 0, fn)
    assert(not fine and (message == "not this" or message:find("id 5 was given a value but was not requested")), message)
  end
  assert(t:sync() == t)
  -- Owners read the newest values; get() returns a copy.
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
  -- A push into a shared table, and its regroup, preserve earlier writes.
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
end

-- Rank 1 arrives after the other ranks have given up.
function jobs.late(...)
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
  if actor.rank == 0 then announce("given up") end
  assert(t:size() == 1 and t:get(actor.rank) == "of " .. actor.rank)
  assert(t:allgather() == t and t:size() == actor.size)
  print("then all")
end

-- Two groups work at the same time, each with its own shared table, rotation and schedulers.
function jobs.groups()
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
end

-- Rank 1 has a lock; rank 2 owns another partition and is killed.
function jobs.lock_fails()
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
    t:lock(0, function() announce("held") await("tried") end)
    print("nothing")
  else
    await("held")
    print("late:", t:lock({ 0, 1 }, print, { timeout = 0.05 }))
    announce("tried")
  end
  repeat
    local got, message, code = t:lock(2, function() return true end)
    if not got then print("lost:", got, message, code) end
  until not got
  print("left: " .. t:lock({ 0, 1 }, function(values) return values[0] + values[1] end))
end

jobs[(...)](select(2, ...))
