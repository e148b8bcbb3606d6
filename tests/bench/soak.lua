-- Checks for memory leaks: `actorhost -n 2 [--isolate] --log-level warn tests/bench/soak.lua [--engine NAME,...]
-- [--times 10000]`.
-- Each engine does its work that many times (param and peer a twentieth as often, each time with 500 pushes). Each line
-- shows one engine: the resident memory of rank 0's process after each quarter, in MB, and the cost of an action
-- between the first quarter and the last. `--engine param,peer` does the work of both in turns, `--times` of each.
-- `--fresh` gives each turn of param and peer its own key, whose value is never deleted. `--pairs` does the same with
-- each pair of engines. All engines take some minutes.
local actor = require "actor"
local resident = require "resident"
local mr = require "actor.mapreduce"
local co, tensor = actor.collective, actor.tensor
local n, me = actor.size, actor.rank
local opt = actor.options { engine = "all", times = 10000, pushes = 500, fresh = false, pairs = false }

local engines = {}

function engines.average()
  local model = tensor.zeros(1000)
  return function()
    local handle = actor.average.start(model, { sync_interval_ms = 1 })
    if actor.role == "worker" then handle:step(function() model:add_(1) end) end
    handle:abort()
  end
end

function engines.mapreduce()
  local words = {}
  for i = 1, 100 do words[i] = "word " .. i % 10 end
  return function()
    local counts = mr.parallelize(words, 2):map(function(word) return word, 1 end):reduce_by_key(mr.sum, { partitions = 2 })
    assert(#counts:collect() == 10)
  end
end

local function key_of(i) return opt.fresh and "w" .. i or "w" end

function engines.param()
  return function(i)
    local key = key_of(i)
    actor.param.run {
      init = function() return { [key] = tensor.zeros(1000) } end,
      schedule_local = function() return { key } end,
      push = function(_, params) return { { key, params[1][2] + 1 } } end,
      stop = function(ctx) return ctx.updates >= opt.pushes end,
    }
  end, 20
end

function engines.peer()
  return function(i)
    local key = key_of(i)
    actor.peer.run {
      init = function() return { [key] = tensor.zeros(1000) } end,
      schedule = function() return { key } end,
      push = function(_, entries) return { { key, entries[1][2] + 1 } } end,
      stop = function(ctx) return ctx.updates >= opt.pushes end,
    }
  end, 20
end

function engines.collective()
  local small, large = tensor.zeros(10), tensor.zeros(20000)
  return function()
    co.allreduce(small)
    co.allreduce(large)
    co.broadcast(small, 0)
    co.allgather(me)
    co.barrier()
  end
end

function engines.lock()
  return function(i) co.lock({ "one", i % 100, "name " .. i }, function() return i end) end
end

function engines.event()
  return function(i)
    co.send_event("name " .. i, i, { to = (me + 1) % n })
    assert(co.wait_event("name " .. i).value == i)
  end
end

function engines.table()
  return function()
    local shared = co.table { shared = true, combiner = "sum" }
    for id = 1, 4 do shared:set(id, tensor.ones(100)) end
    shared:regroup()
    shared:lock({ 1, 2 }, function(values) values[1]:add_(1) end)
    shared:allreduce()
  end
end

function engines.rotator()
  return function()
    local model = co.table()
    for id = 0, 3 do model:set(id * n + me, tensor.zeros(100)) end
    local rotator = co.rotator { table = model, slices = 2 }
    assert(rotator:round(function() end))
  end
end

function engines.sim()
  return function(i) actor.sim.run { barrier = "pssp:4:4", nodes = 10, time = 5, seed = i } end
end

local names = { "param", "peer", "average", "mapreduce", "collective", "lock", "event", "table", "rotator", "sim" }

local actions = { param = true, peer = true, average = true, mapreduce = true }

-- Does the work of these engines in turns.
local function soak(...)
  local each, fewer = {}, 1
  for i, name in ipairs { ... } do
    if not engines[name] then error("--engine: all, " .. table.concat(names, ", ") .. ", not " .. name) end
    local once, less = engines[name]()
    -- Servers replay the actions of earlier turns; engines without actions run on workers only.
    local skips = actor.role == "server" and not actions[name]
    each[i], fewer = skips and function() end or once, math.max(fewer, less or 1)
  end
  local times = math.ceil(opt.times / (#each == 1 and fewer or 1) / 4)
  local marks, from = {}, actor.now()
  for quarter = 1, 4 do
    for i = 1, times do
      for _, once in ipairs(each) do once((quarter - 1) * times + i) end
    end
    collectgarbage()
    if actor.role == "worker" then co.barrier() end -- servers of later runs pass here, too
    marks[quarter] = resident()
  end
  print(("%-20s %6d times %7.1f s  %7.1f %7.1f %7.1f %7.1f MB %8.2f KB each"):format(table.concat({ ... }, ","), 4 * times,
    actor.now() - from, marks[1], marks[2], marks[3], marks[4], (marks[4] - marks[1]) * 1024 / (3 * times)))
end

if opt.pairs then
  for i, name in ipairs(names) do
    for k = i + 1, #names do soak(name, names[k]) end
  end
elseif opt.engine == "all" then
  for _, name in ipairs(names) do soak(name) end
else
  local some = {}
  for name in opt.engine:gmatch("[^,]+") do some[#some + 1] = name end
  soak(unpack(some))
end
