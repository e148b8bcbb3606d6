-- Jobs that continue, or end with code 3, when hosts are lost: the first argument selects the job. They check their
-- results for any faults, and whatever ranks remain.
local actor = require "actor"
local tensor, co = actor.tensor, actor.collective
local most = 64 -- hosts
local rng = actor.rng(actor.seed, actor.id or most)

local jobs = {}

-- A tensor with a 1 at the place of this worker.
local function own()
  local out = tensor.zeros(most)
  out[actor.id + 1] = 1
  return out
end

local function rest(seconds) actor.sleep(rng:uniform(0, seconds)) end

-- All surviving ranks hold the same text.
local function check_same(text)
  local all
  repeat all = co.allgather(text) until all
  for r = 1, all.n do assert(all[r] == text, all[r] .. "\n" .. text) end
end

-- Each call ends in the same way on all surviving ranks, and a result has the value of each rank of the call once.
-- `kind`: of the calls; all kinds in turns without it.
function jobs.collectives(kind, algorithm)
  local options, calls, kinds = { algorithm = algorithm }, {}, {}
  function calls.allreduce() return co.allreduce(own(), "sum", options) end
  function calls.allgather()
    local list, message, code = co.allgather(own(), { list = true, algorithm = algorithm })
    if not list then return nil, message, code end
    local sum = tensor.zeros(most)
    for r = 1, list.n do sum:add_(list[r]) end
    return sum
  end
  function calls.reduce()
    local sum, message, code = co.reduce(own(), "sum", 0, options)
    return actor.rank == 0 and sum or not code, message, code
  end
  function calls.broadcast()
    local value, message, code = co.broadcast(tensor.full({ most }, actor.rank), 0, options)
    return value and value:max() == 0, message, code
  end
  function calls.barrier()
    local _, message, code = co.barrier()
    return not code, message, code
  end
  for name in actor.pairs(calls) do kinds[#kinds + 1] = name end
  local ends = {}
  for i = 1, 40 do
    rest(0.02)
    local size = actor.size
    local sum, _, code = calls[kind or kinds[i % #kinds + 1]]()
    ends[i] = code or "done"
    if not code and sum ~= true then
      assert(sum and sum:max() <= 1 and sum:sum() == size and sum[actor.id + 1] == 1, tostring(sum))
    end
  end
  check_same(table.concat(ends, " "))
end

-- One holder at a time, and no request waits for a killed holder.
function jobs.locks()
  local lost, name = {}, nil
  repeat name = co.broadcast(actor.rank == 0 and os.tmpname() or nil, 0) until name
  actor.on_membership(function(change)
    for _, id in ipairs(change.lost) do lost[id] = true end
  end)
  for i = 1, 30 do
    co.lock(i % 2 == 0 and { "a", i % 3 } or { i % 3, "a" }, function()
      local file = io.open(name)
      local other = file and tonumber(file:read("*a"))
      if file then file:close() end
      local till = actor.now() + 10
      while other and not lost[other] do -- a killed holder leaves its file
        assert(actor.now() < till, "two holders")
        actor.sleep(0.1)
        require("actor.events").deliver()
      end
      file = assert(io.open(name, "w"))
      file:write(actor.id)
      file:close()
      rest(0.02)
      os.remove(name)
    end)
  end
end

-- The events of a rank arrive once and in order.
function jobs.events()
  local last = {}
  for i = 1, 40 do
    rest(0.02)
    co.send_event("number", i)
    local event = co.get_event("number")
    while event do
      assert(event.value == (last[event.id] or 0) + 1, ("%s after %s"):format(event.value, last[event.id]))
      last[event.id] = event.value
      event = co.get_event("number")
    end
  end
end

-- Each merged update counts once. `policy`: all, drop, buffer or scale.
function jobs.server(rule, policy)
  local param, steps, mine = actor.param, 30, 0
  local policies = { all = param.merge.all(), drop = param.merge.drop { later_than = 1 },
    buffer = param.merge.buffer { k = 2 }, scale = param.merge.scale_by_staleness() }
  local summary = param.run {
    init = function() return { x = tensor.zeros(most), y = tensor.zeros(most) } end,
    schedule_local = function() return { "x", "y" } end,
    push = function(_, entries)
      rest(0.02)
      for _, entry in ipairs(entries) do
        local seen = entry[2][actor.id + 1]
        assert(seen <= mine and seen >= 0, ("%g of %d updates"):format(seen, mine))
      end
      mine = mine + 1
      return { { "x", own() }, { "y", own() } }
    end,
    pull = actor.optim.add(),
    merge = policies[policy],
    barrier = rule,
    stop = function(ctx) return ctx.step >= steps end,
  }
  local x, y = param.get "x", param.get "y"
  assert(tostring(x) == tostring(y), tostring(x) .. tostring(y))
  assert(x[actor.id + 1] <= mine, x[actor.id + 1] .. " of " .. mine)
  if policy == "all" or policy == "drop" then
    assert(x:sum() == summary.updates, ("%g updates of %d"):format(x:sum(), summary.updates))
  end
  if policy == "all" then assert(x[actor.id + 1] >= steps, tostring(x)) end
end

-- The updates of each live worker count once.
function jobs.peers(rule)
  local peer, steps, keys, zero = actor.peer, 40, {}, {}
  for i = 1, 12 do
    keys[i] = "k" .. i
    zero[keys[i]] = tensor.zeros(most)
  end
  peer.run {
    init = function() return zero end,
    schedule_local = function() return keys end,
    push = function()
      rest(0.02)
      local out = {}
      for i, key in ipairs(keys) do out[i] = { key, own() } end
      return out
    end,
    pull = actor.optim.add(),
    barrier = rule,
    stop = function(ctx) return ctx.step >= steps end,
  }
  for _, key in ipairs(keys) do
    local value = peer.get(key)
    assert(value:min() >= 0 and value:max() <= steps, tostring(value))
    assert(value[actor.id + 1] == steps, tostring(value))
  end
end

-- The results are those of a run without faults.
function jobs.mapreduce(kind)
  local mr = actor.mapreduce
  local rows = mr.range(1, 2000):map(function(i)
    if i % 100 == 0 then rest(0.05) end
    return i
  end)
  if kind == "narrow" then
    for _ = 1, 3 do
      assert(rows:filter(function(i) return i % 2 == 0 end):count() == 1000)
      assert(rows:sum() == 2001000)
    end
    return
  end
  for round = 1, 3 do
    local sums = rows:map(function(i) return i % 7, i end):reduce_by_key(function(a, b) return a + b end):collect()
    table.sort(sums, function(a, b) return a[1] < b[1] end)
    assert(#sums == 7)
    local total = 0
    for i, pair in ipairs(sums) do
      assert(pair[1] == i - 1)
      total = total + pair[2]
    end
    assert(total == 2001000, total)
    local sorted = rows:map(function(i) return (i * 7919 + round) % 2000 end):sort():collect()
    for i = 1, 2000 do assert(sorted[i] == i - 1) end
  end
end

-- After each round, complete or failed, each number is at one rank, and has one visit of each rank of each complete
-- round.
function jobs.rotator()
  local t = co.table { combiner = "max" }
  for i = 1, 6 do t:set(actor.id * 10 + i, { count = tensor.zeros(1) }) end
  local rotator, visits = co.rotator { table = t }, 0
  local ends = {}
  for i = 1, 15 do
    local size = actor.size
    local done, _, code = rotator:round(function(slice)
      for _, value in slice:pairs() do
        rest(0.003)
        value.count:add_(1)
      end
    end)
    ends[i] = code or "done"
    if done then visits = visits + size end
    for _, value in t:pairs() do assert(value.count[1] == visits, value.count[1] .. " visits of " .. visits) end
  end
  check_same(table.concat(ends, " "))
end

-- All surviving ranks end with the same model. Its elements are equal, since all steps change them equally. A lost
-- worker takes a part of the others' progress with it.
function jobs.averaging(peers)
  local x = tensor.full({ 200 }, actor.id)
  local handle = actor.average.start(x, { sync_interval_ms = 5, peers = peers, deadline_ms = 200 })
  for _ = 1, 60 do
    handle:step(function()
      rest(0.01)
      x:add_(0.5)
    end)
  end
  handle:abort()
  check_same(actor.hash(x))
  assert(x:max() - x:min() < 1e-3 and x:min() > 0 and x:max() <= 30 + most, tostring(x))
end

local name = ...
assert(jobs[name], "no job " .. name)(select(2, ...))
