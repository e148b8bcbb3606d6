-- Rotators and schedulers: the first argument selects the job.
local actor = require "actor"
local expect = require "expect"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Every rank records its visit in each partition, and holds a file there that only one rank may hold at a time.
-- case: {rounds,kinds,schedulers} within: 60 at: rehearsal:{1,3,5,2x2} threads isolate
function jobs.rounds()
  local c, tensor = actor.collective, actor.tensor
  local rank, n = actor.rank, actor.size
  local function check_round(options, slices, size, rounds)
    local t = c.table { combiner = "max" }
    for i = 1, size + rank do t:set(i * n + rank, { count = tensor.zeros(3), by = {} }) end
    if options.own then
      options = { tables = { t, c.table() } }
      options.tables[2]:set(-1 - rank, { count = tensor.zeros(3), by = {} })
    else
      options.table, options.slices = t, slices
    end
    local rotator = c.rotator(options)
    local before = table.concat(t:ids(), " ")
    for round = 1, rounds do
      local calls = 0
      assert(rotator:round(function(slice, visit)
        calls = calls + 1
        assert(t:size() == 0 and visit.round == round and visit.rank == rank)
        assert(visit.time_left() == (options.bound and visit.time_left() or math.huge) and visit.home == (rank - visit.step) % n)
        for id, value in slice:pairs() do
          local name = "inside " .. size .. " " .. id
          assert(not io.open(name), "two are at once at " .. name)
          local file = assert(io.open(name, "w"))
          assert(id % n == visit.home or id == -1 - visit.home)
          value.count:add_(1)
          value.by[#value.by + 1] = rank
          file:close()
          os.remove(name)
        end
      end))
      assert(calls == n * slices)
    end
    assert(table.concat(t:ids(), " ") == before)
    for id, value in t:pairs() do
      assert(value.count:min() == n * rounds and value.count:max() == n * rounds)
      for i = 1, n do assert(value.by[i] == (rank + i - 1) % n, "another order") end
    end
    local stats = rotator:stats()
    assert(stats.rounds == rounds and stats.visits == rounds * n * slices and stats.computed >= 0 and stats.waited >= 0)
  end
  check_round({}, 2, 4, 3)
  c.barrier()
  check_round({}, 1, 5, 2)
  c.barrier()
  check_round({ restore = false }, 3, 0, 2)
  c.barrier()
  check_round({ own = true }, 2, 3, 2)
  -- A visit may add to a slice and remove from it.
  local t = c.table()
  t:set(rank, 1)
  assert(c.rotator { table = t }:round(function(slice, visit)
    for id, value in slice:pairs() do slice:set(id, value * 2) end
    if visit.slice == 2 then slice:add(100 + visit.home, 1) end
  end))
  assert(t:get(rank) == 2 ^ n and t:get(100 + rank) == 2 ^ n - 1 and t:size() == 2)
  -- The remaining time of a visit falls, and never below zero.
  local least, most = math.huge, 0
  assert(c.rotator { table = t, bound = 0.05 }:round(function(_, visit)
    local left = visit.time_left()
    most = math.max(most, left)
    while visit.time_left() > 0 do end
    least = math.min(least, visit.time_left())
  end))
  assert(most > 0 and most <= 0.05 and least == 0)
end

-- Partitions of all kinds: tensors of one type, whose slices travel as one tensor, and others. Every visit by a rank
-- adds rank + 1.
function jobs.kinds()
  local c, tensor = actor.collective, actor.tensor
  local rank, n = actor.rank, actor.size
  local double = { dtype = "float64" }
  local kinds = {
    { flat = true, make = function(id) return tensor.full({ id % 7 + 1 }, id) end },
    { flat = true, make = function(id) return tensor.full({ 2, id % 3 + 1 }, id, double) end },
    { flat = true, make = function(id) return tensor.full({ 3, 4 }, id):transpose(1, 2) end },
    { flat = true, make = function(id) return tensor.full({ 5, 4 }, id):slice(1, 1, 5, 2) end },
    { make = function(id) return tensor.full({ 3 }, id, id % 4 < 2 and double or nil) end },
    { make = function(id) return tensor.full({ id % 3 }, id) end },
    { make = function(id) return tensor.full({}, id) end },
    { make = function(id) return id end },
  }
  local function right(value, expected)
    if not tensor.is_tensor(value) then return value == expected end
    return value.size == 0 or value:min() == expected and value:max() == expected
  end
  local each = n * (n + 1) / 2
  for number, kind in ipairs(kinds) do
    for _, slices in ipairs { 1, 2, 3 } do
      for _, restore in ipairs { true, false } do
        local t, first, shapes = c.table(), {}, {}
        for i = 1, 8 do
          local id = (i * n + rank) * 2 + i % 2
          first[id] = kind.make(id)
          shapes[id] = tensor.is_tensor(first[id]) and table.concat(first[id].shape, " ")
          t:set(id, first[id])
        end
        local rotator = c.rotator { table = t, slices = slices, restore = restore }
        local held, rounds = nil, 0
        local function visit(slice, v)
          rounds = math.max(rounds, v.round)
          for id, value in slice:pairs() do
            if tensor.is_tensor(value) then value:add_(rank + 1) else slice:set(id, value + rank + 1) end
            held = value
          end
        end
        assert(rotator:round(visit))
        assert(rotator:round(visit, { rounds = 3 }) and rounds == 4 and rotator:stats().rounds == 4)
        assert(rotator:stats().visits == 4 * n * slices)
        for id, value in t:pairs() do
          assert(right(value, id + 4 * each), ("kind %d: a wrong value"):format(number))
          assert(not shapes[id] or table.concat(value.shape, " ") == shapes[id])
          -- With `restore` values return into the original tensors.
          assert(not kind.flat or rawequal(value, first[id]) == (restore or n == 1))
        end
        -- Partitions added between rounds travel along, and so do changes in place.
        local more = kind.make(n * 100 + rank)
        t:set(n * 100 + rank, more)
        for _, value in t:pairs() do
          if tensor.is_tensor(value) then value:add_(1) end
        end
        assert(rotator:round(visit))
        local one = tensor.is_tensor(more) and 1 or 0
        for id, value in t:pairs() do assert(right(value, id + one + (id == n * 100 + rank and 1 or 5) * each)) end
        t:remove(n * 100 + rank)
        assert(t:size() == 8 and (not kind.flat or n == 1 or held.size == 0))
      end
    end
  end
  -- Visitors add and remove tensors and change their shapes.
  local t, twice = c.table { name = "changing" }, tensor.ones(2)
  t:set(rank, tensor.full({ 2 }, rank))
  t:set(rank + n, tensor.full({ 2 }, rank))
  assert(c.rotator { table = t, slices = 1 }:round(function(slice, v)
    if v.step == 0 then
      slice:remove(rank)
      slice:set(rank + 2 * n, twice)
      slice:set(rank + 3 * n, twice)
    end
    slice:set(v.home + n, tensor.full({ slice:get(v.home + n).size + 1 }, rank))
    if n > 1 and v.step == n - 1 then slice:set(v.home + 4 * n, slice:get(v.home + 2 * n)) end
  end))
  local last = n == 1 and rank or (rank - 1) % n
  assert(table.concat(t:ids(), " ") == table.concat({ rank + n, rank + 2 * n, rank + 3 * n, n > 1 and rank + 4 * n or nil }, " "))
  assert(t:get(rank + n):equal(tensor.full({ n + 2 }, last)) and t:get(rank + 2 * n):equal(twice))
  assert(n == 1 or t:get(rank + 4 * n):equal(twice) and not rawequal(t:get(rank + 4 * n), t:get(rank + 2 * n)))
  -- A mean carries on the counts of its partitions.
  local mean = c.table { combiner = "mean" }
  mean:set(rank, tensor.full({ 1 }, 1))
  mean:add(rank, tensor.full({ 1 }, 3))
  assert(c.rotator { table = mean }:round(function() end))
  mean:add(rank, tensor.full({ 1 }, 5))
  assert(mean:get(rank):item() == 3)
  expect.raises(function() c.rotator { table = t }:round(print, { rounds = 0 }) end, "bad argument 'rounds' to rotator:round: expected")
end

-- A round that fails on one rank fails on all ranks and restores their partitions.
-- case: fails kill: stays within: 20 at: isolate
function jobs.fails()
  local c, tensor = actor.collective, actor.tensor
  local rank, n = actor.rank, actor.size
  local t = c.table { name = "model" }
  t:set(rank, tensor.full({ 5 }, rank))
  t:set(rank + n, tensor.full({ 5 }, rank))
  local function check_intact()
    assert(t:size() == 2 and t:get(rank):sum() == 5 * rank and t:get(rank + n):sum() == 5 * rank)
  end
  local function add_one(slice)
    for _, value in slice:pairs() do value:add_(1) end
  end
  local rotator = c.rotator { table = t }
  local function round()
    rotator:round(function(slice, visit)
      add_one(slice)
      if rank == 1 and visit.step == 1 then error("no more", 0) end
    end)
  end
  local line = debug.getinfo(round, "S").linedefined + 1
  expect.raises(round, "collective_rotator.lua:" .. line .. ": rotator:round: rank 1: no more")
  check_intact()
  rotator = c.rotator { table = t, slices = rank == 1 and 3 or 2 }
  expect.raises(function() rotator:round(print) end,
    "rank 1 is in rotator round 1 of 3 slices of table 'model' (sum) at collective_rotator.lua:",
    "every rank must make the same calls in the same order")
  check_intact()
  expect.raises(function() c.rotator { table = t, tables = { t } } end, "collective.rotator takes either table or tables")
  expect.raises(function() c.rotator { tables = { t, 5 } } end,
    "bad argument 'tables[2]' to collective.rotator: expected a table of collective.table")
  rotator = c.rotator { table = t }
  local got, message, code = rotator:round(function(slice, visit)
    add_one(slice)
    if rank == 2 and visit.step == 1 then meeting.stay() end
  end)
  assert(got == nil and message == "rotator: rank 2 lost" and code == "peer_lost", message)
  check_intact()
  assert(c.rotator { table = t }:round(add_one))
  expect.same(t:get(rank):sum(), 5 * rank + 5 * actor.size)
end

function jobs.schedulers()
  local c = actor.collective
  local rank, n = actor.rank, actor.size
  local items = {}
  for i = 1, 50 do items[i] = "item " .. i end
  -- Each item is handed out once, to one of the ranks.
  local function handed_out(scheduler)
    local mine = {}
    for item, index in scheduler:items() do
      assert(item == items[index])
      mine[#mine + 1] = index
    end
    local all, seen, count = c.allgather(mine), {}, 0
    for r = 1, all.n do
      for _, index in ipairs(all[r]) do
        assert(not seen[index], "item " .. index .. " twice")
        seen[index], count = r - 1, count + 1
      end
    end
    return count, seen
  end
  for _, chunk in ipairs { 1, 7, 100 } do
    local scheduler = c.scheduler { dynamic = items, chunk = chunk }
    assert(handed_out(scheduler) == 50)
    assert(handed_out(scheduler) == 0)
    assert(handed_out(scheduler:restart()) == 50)
  end
  local static = c.scheduler { static = items }
  for _ = 1, 2 do
    local count, by = handed_out(static)
    assert(count == 50)
    for i = 1, 50 do assert(by[i] == (i - 1) % n) end
  end
  for _, options in ipairs { { dynamic = items }, { static = items }, { dynamic = items, chunk = 3 } } do
    local scheduler = c.scheduler(options)
    for _ = 1, 2 do
      local results = scheduler:run(function(item, index)
        if index % 10 == 0 then return nil end
        return { item, index * index }
      end)
      assert(results.n == 50)
      for i = 1, 50 do
        assert(i % 10 == 0 and results[i] == nil or results[i][1] == items[i] and results[i][2] == i * i)
      end
    end
  end
  assert(handed_out(c.scheduler { dynamic = {} }) == 0 and c.scheduler { static = {} }:run(print).n == 0)
  -- An absent rank does not stop the others: all work is done while rank 0 takes nothing.
  if n > 1 then
    local scheduler, taken = c.scheduler { dynamic = items }, 0
    if rank > 0 then
      for _ in scheduler:items() do taken = taken + 1 end
      c.send_event("taken", taken, { to = 0 })
    else
      for _ = 1, n - 1 do taken = taken + c.wait_event("taken").value end
      assert(taken == 50)
    end
  end
  local fine, message = pcall(static.run, static, function(_, index) if index == 9 then error("not this", 0) end end)
  local all = c.allgather(tostring(message))
  for i = 1, all.n do assert(all[i] == all[1]) end
  assert(not fine and message:find("scheduler:run: rank %d: item 9: not this"), message)
  expect.raises(function() c.scheduler {} end, "collective.scheduler takes either dynamic or static")
end

-- Rank 2 is killed while it processes an item; its results are lost, and the other ranks process its items again.
-- case: scheduler_killed {dynamic,static} kill: stays within: 20 at: isolate
function jobs.scheduler_killed(...)
  local c = actor.collective
  local kind = ...
  local items = {}
  for i = 1, 20 do items[i] = i end
  local me = actor.rank
  local scheduler = c.scheduler { [kind] = items }
  local results = scheduler:run(function(item)
    if me == 2 then
      announce("begun")
      meeting.stay()
    end
    await("begun") -- so that rank 2 gets an item
    return item + 100
  end)
  local sum = 0
  for i = 1, 20 do sum = sum + results[i] end
  assert(sum == 2210 and actor.size == 2)
end

-- The first item of each visit uses up the time, so the loop ends after it, and the next visit of that slice here
-- begins with the following item. A visit that begins too late has no time for any item.
-- case: bounded at: threads:1 threads isolate
function jobs.bounded()
  local c = actor.collective
  local t = c.table()
  for i = 0, 4 do t:set(actor.rank + i * actor.size, 0) end
  local rotator = c.rotator { table = t, bound = 0.03 }
  local last, items, whole = {}, 0, 0
  for round = 1, 12 do
    assert(rotator:round(function(slice, visit)
      local ids, seen = slice:ids(), 0
      for id in slice:pairs() do
        seen, items = seen + 1, items + 1
        assert(seen == 1, "the loop goes on when its time is up")
        local key = visit.home .. "/" .. visit.slice
        local due = ids[1]
        for i, other in ipairs(ids) do
          if other == last[key] then due = ids[i % #ids + 1] end
        end
        assert(id == due, "not the one behind the last")
        last[key] = id
        while visit.time_left() > 0 do end
      end
    end))
  end
  assert(items > 0)
  assert(c.rotator { table = t }:round(function(slice)
    for _ in slice:pairs() do whole = whole + 1 end
  end))
  assert(whole == 5 * actor.size)
end

jobs[(...)](select(2, ...))
