-- Tables of collectives: the first argument selects the job.
local actor = require "actor"
local expect = require "expect"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Each wrong call fails on every rank with the same message, and changes no table.
-- case: wrong within: 60 at: threads isolate
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
  local function fails(name, t, fn, ...)
    local before = text(t)
    local fine, message = pcall(fn, t)
    assert(not fine, name .. " has not failed")
    assert(text(t) == before, name .. " has changed the table: " .. before .. " -> " .. text(t))
    local all = c.allgather((message:gsub("^collective_table.lua:%d+: ", "")))
    for i = 1, all.n do assert(all[i] == all[1], "not the same everywhere: " .. all[i] .. " / " .. all[1]) end
    for _, wanted in ipairs { ... } do assert(all[1]:find(wanted, 1, true), name .. ": " .. all[1]) end
  end
  local function regroup(t) t:regroup() end
  fails("outside", filled { partitioner = function(id, n) return id == 11 and n or 0 end }, regroup,
    "table:regroup: rank 1: the partitioner gives id 11 to 3, which is no rank from 0 to 2")
  fails("fraction", filled { partitioner = function() return 0.5 end }, regroup, "gives id 1 to 0.5, which is no rank")
  fails("partitioner", filled { partitioner = function() error("no owner", 0) end }, regroup,
    "table:regroup: rank 0: the partitioner failed for id 1: no owner")
  local shapes = filled()
  shapes:set(1, tensor.zeros(2 + rank))
  fails("shapes", shapes, regroup, "table:regroup: rank 1: partition 1: float32[2] and float32[3] do not fit together")
  fails("shapes of all", shapes, function(t) t:allreduce() end, "partition 1: float32[2] and float32[3] do not fit together")
  fails("shapes gathered", shapes, function(t) t:allgather() end,
    "table:allgather: rank 0: partition 1: float32[2] and float32[3]")
  fails("shapes at the root", shapes, function(t) t:reduce(1) end,
    "table:reduce: rank 1: partition 1: float32[2] and float32[3]")
  local kinds = filled()
  kinds:set(1, { rank })
  fails("kinds", kinds, regroup, "the combiner 'sum' is for tensors and numbers, not for a table")
  fails("function", filled { combiner = function() error("not these", 0) end }, regroup,
    "partition 1: the combiner failed: not these")
  fails("nothing", filled { combiner = function() end }, regroup, "the combiner gave nil")
  fails("nothing shared", filled { combiner = function() end, shared = true }, regroup, "the combiner gave nil")
  fails("unknown", filled(), function(t) t:pull(c.table()) end,
    "table:pull: rank 0: it has no partition 12, which rank 2 requests")
  fails("rotate", filled(), function(t) t:rotate(function() return 1 end) end,
    "bad argument 'permutation' to table:rotate: it sends both rank 0 and rank 1 to rank 1")
  local global = filled { partitioner = function() return "a" end }
  fails("push", filled(), function(t) t:push(global) end,
    "table:push: rank 0: the partitioner gives id 1 to a, which is no rank")
  -- Some ranks pass a permutation, others none: a mismatch, not a hang.
  fails("one is none", filled(), function(t) t:rotate(rank == 1 and {} or { 1, 2, 0 }) end,
    "by no permutation: it has no target for rank 0 at collective_table.lua:", "by 1,2,0 at collective_table.lua:")
  fails("two", filled(), function(t) t:rotate(rank == 1 and { 2, 0, 1 } or { 1, 2, 0 }) end,
    "rank 0 is in rotate of a table (sum) by 1,2,0 at collective_table.lua:", "rank 1 is in rotate of a table (sum) by 2,0,1 at collective_table.lua:")
  fails("other", filled(), function(t) if rank == 1 then t:regroup() else t:allgather() end end,
    "rank 0 is in allgather of a table (sum) at collective_table.lua:", "rank 1 is in regroup of a table (sum) at collective_table.lua:")
  fails("combiner", filled { combiner = rank == 1 and "max" or "sum" }, regroup, "regroup of a table (max)")
  fails("name", filled { name = rank == 1 and "w" or nil }, function(t) t:broadcast(1) end,
    "rank 0 is in broadcast of a table (sum) from rank 1 at collective_table.lua:", "rank 1 is in broadcast of table 'w' (sum) from rank 1 at collective_table.lua:")
  expect.raises(function() filled():lock(1, print) end, "table:lock: the table is not shared")
  assert(filled():regroup({ timeout = 5 }))
end

-- The killed rank has not made the call that the other ranks wait in; they continue without it.
-- case: killed {regroup,allreduce,rotate,push,pull,broadcast} kill: stays within: 20 at: isolate
-- case: killed {regroup,sync} shared kill: stays within: 20 at: isolate
function jobs.killed(...)
  local c, tensor = actor.collective, actor.tensor
  local operation, shared = ...
  local t, global = c.table { shared = shared == "shared" }, c.table()
  t:set(actor.rank, tensor.full({ 1000 }, actor.rank))
  t:set(7, actor.rank)
  t:push(global)
  if shared then t:regroup() end
  local ids, owned = table.concat(t:ids(), " "), t:get(7)
  if actor.rank == 2 then meeting.stay() end
  local calls = {
    regroup = function() return t:regroup() end,
    allreduce = function() return t:allreduce() end,
    rotate = function() return t:rotate() end,
    push = function() return t:push(global) end,
    pull = function() return t:pull(global) end,
    broadcast = function() return t:broadcast(1) end,
    sync = function() return t:sync() end,
  }
  local got, message, code = calls[operation]()
  assert(got == nil and message == operation .. ": rank 2 lost" and code == "peer_lost", message)
  assert(table.concat(t:ids(), " ") == ids and t:get(7) == owned)
  if t:get(1) then assert(t:get(1):sum() == 1000) end
  assert(t:regroup() == t)
  for _, id in ipairs(t:ids()) do assert(id % 2 == actor.rank) end
  -- Before a regroup, the ranks check that a shared table is complete.
  expect.same(t:copy():allreduce():get(7), shared and 3 or 1)
end

-- Partitions that all ranks change at the same time: the updates of different ranks overlap.
-- case: updates at: threads isolate hosts
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
    expect.raises(function() t:update(0, fn) end, why)
  end
  expect.raises(function() t:update(9, print) end, "table:update: partition 9 is not a tensor")
  expect.raises(function() c.table():update(0, print) end, "table:update: the table is not shared")
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
    expect.raises(function() t[name](t) end, "a table has no " .. name .. ": " .. instead)
  end
end

-- Partitions that all ranks change under locks, several at a time.
-- case: locks within: 60 at: threads:{1,2,8} threads isolate hosts
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
  expect.raises(function() t:lock(0, function(v) v[0]:fill_(-1) error("not this", 0) end) end, "not this")
  expect.raises(function() t:lock(0, function(v) v[0]:fill_(-1) v[5] = 1 end) end, "id 5 was given a value but was not requested")
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
  expect.same(total, expected)
  expect.same(all:get(100).updates, n * rounds)
  -- A push into a shared table, and its regroup, preserve earlier writes.
  local more = c.table()
  more:set(3, tensor.full({ 8 }, 2))
  t:lock(3, function(values) values[3]:add_(1) end)
  assert(more:push(t) == more)
  t:lock(3, function(values) values[3]:add_(1) end)
  assert(t:regroup() == t)
  t:lock(3, function(values) values[3]:add_(1) end)
  assert(more:pull(t) == more)
  expect.same(more:get(3):sum(), all:get(3):sum() + 5 * 8 * n)
  expect.raises(function() t:set(3, 1) end, "shared since its regroup")
  assert(t:unshare() == t)
  t:set(3, 1)
  assert(t:unshare() == t)
  expect.raises(function() t:lock(3, print) end, "the table is not shared")
end

-- Rank 1 arrives after the other ranks have given up. The named rank depends on which rank gives up first: ranks 0 and
-- 2 may be late for each other on a slow machine.
-- case: late {regroup,allreduce,rotate,pull,rotator} at: threads isolate
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
  local got, message, code = calls[operation]()
  assert(got == nil and message:find(operation .. ": rank", 1, true) and message:find("not answered in time") and code == "timeout", message)
  if actor.rank == 0 then announce("given up") end
  assert(t:size() == 1 and t:get(actor.rank) == "of " .. actor.rank)
  assert(t:allgather() == t and t:size() == actor.size)
end

-- Two groups work at the same time, each with its own shared table, rotation and schedulers.
-- case: groups within: 60 at: threads:5 threads isolate hosts
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
  expect.raises(function() t:push(c.table()) end, "it is another group's")
  c.barrier()
end

-- Rank 1 has a lock; rank 2 owns another partition and is killed. Errors name the holder and the failed owner.
-- case: lock_fails kill: stays within: 20 at: isolate
function jobs.lock_fails()
  local c = actor.collective
  local t = c.table { shared = true }
  t:set(actor.rank, actor.rank)
  t:regroup()
  if actor.rank == 2 then
    await("tried")
    meeting.stay()
  elseif actor.rank == 1 then
    t:lock(0, function() announce("held") await("tried") end)
  else
    await("held")
    local got, message, code = t:lock({ 0, 1 }, print, { timeout = 0.05 })
    assert(got == nil and message:find("not granted within 0.05 s (held by rank 1 at collective_table.lua:", 1, true) and code == "timeout", message)
    announce("tried")
  end
  local got, message, code
  repeat got, message, code = t:lock(2, function() return true end) until not got
  assert(message == "lock: rank 2 lost" and code == "peer_lost", message)
  expect.same(t:lock({ 0, 1 }, function(values) return values[0] + values[1] end), 1)
end

jobs[(...)](select(2, ...))
