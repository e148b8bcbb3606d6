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

local function is_lost(id)
  for _, worker in ipairs(require("actor.c.node").workers()) do
    if worker == id then return false end
  end
  return true
end

-- Waits until the worker is lost; `text` is the error of a live worker.
local function await_loss(id, text)
  local till = actor.now() + 10
  while not is_lost(id) do
    assert(actor.now() < till, text)
    actor.sleep(0.1)
    require("actor.events").deliver()
  end
end

-- All surviving ranks, of a group or of all, hold the same text.
local function check_same(text, group)
  local all
  repeat all = group and group:allgather(text) or not group and co.allgather(text) until all
  for r = 1, all.n do assert(all[r] == text, all[r] .. "\n" .. text) end
end

-- Each call ends in the same way on all surviving ranks, and a result has the value of each rank of the call once.
-- `kind`: of the calls; all kinds in turns for "all". With `apart` the calls are those of a group without rank 0, so a
-- failure may arrive before the coordinator's new membership.
-- case: collectives {all,allreduce} {automatic,star} apart flags: --codes 0,3 --faults kill=2,break=1,within=700ms at: rehearsal:6
-- case: collectives all flags: --codes 0,3 --faults kill=1,break=1,within=700ms at: rehearsal:4
-- case: collectives allreduce star flags: --codes 0,3 --faults kill=2,break=1,within=700ms at: rehearsal:5
-- case: collectives allreduce {ring,recursive_doubling,halving_doubling} flags: --codes 0,3 --faults kill=1,break=1,within=700ms at: rehearsal:5
-- case: collectives allreduce recursive_doubling flags: --codes 0,3 --faults kill=1,stall=1:4500ms,within=700ms at: rehearsal:4
-- case: collectives broadcast {tree,chain} flags: --codes 0,3 --faults kill=1,break=1,within=700ms at: rehearsal:5
-- case: collectives allreduce ordered flags: --codes 0,3 --faults kill=1,one-way=1:6s,within=700ms at: rehearsal:4
-- case: collectives allreduce hierarchical flags: --codes 0,3 --faults kill=1,partition=1:6s,within=700ms at: rehearsal:4
function jobs.collectives(kind, algorithm, apart)
  local ranks, group = {}, nil
  for r = 1, actor.size - 1 do ranks[r] = r end
  if apart then
    if actor.rank == 0 then return co.wait_event "over" end
    group = co.group("apart", ranks)
  end
  local function made(name, ...)
    if group then return group[name](group, ...) end
    return co[name](...)
  end
  local function size_of() return group and group:size() or actor.size end
  local function place() return group and group:rank() or actor.rank end
  local options, calls, kinds = { algorithm = algorithm ~= "automatic" and algorithm or nil }, {}, {}
  function calls.allreduce() return made("allreduce", own(), "sum", options) end
  function calls.allgather()
    local list, message, code = made("allgather", own(), { list = true, algorithm = options.algorithm })
    if not list then return nil, message, code end
    local sum = tensor.zeros(most)
    for r = 1, list.n do sum:add_(list[r]) end
    return sum
  end
  function calls.reduce()
    local sum, message, code = made("reduce", own(), "sum", 0, options)
    return place() == 0 and sum or not code, message, code
  end
  function calls.broadcast()
    local value, message, code = made("broadcast", tensor.full({ most }, place()), 0, options)
    return value and value:max() == 0, message, code
  end
  function calls.barrier()
    local _, message, code = made "barrier"
    return not code, message, code
  end
  for name in actor.pairs(calls) do kinds[#kinds + 1] = name end
  local ends = {}
  for i = 1, 40 do
    if ends[i - 1] == "done" then rest(0.02) end -- after a failed call the new size holds at once
    local size = size_of()
    local sum, _, code = calls[kind ~= "all" and kind or kinds[i % #kinds + 1]]()
    ends[i] = code or "done"
    if not code and sum ~= true then
      local fine = sum and sum:max() <= 1 and sum:sum() == size and sum[actor.id + 1] == 1
      if not fine then error(tostring(sum)) end -- the text of a tensor takes longer than the call
    end
  end
  check_same(table.concat(ends, " "), group)
  if apart then co.send_event("over", true, { to = 0 }) end
end

-- One holder at a time, and no request waits for a killed holder.
-- case: locks flags: --codes 0,3 --faults kill=2,within=700ms at: rehearsal:5
function jobs.locks()
  local name
  repeat name = co.broadcast(actor.rank == 0 and os.tmpname() or nil, 0) until name
  for i = 1, 30 do
    co.lock(i % 2 == 0 and { "a", i % 3 } or { i % 3, "a" }, function()
      local file = io.open(name)
      local other = file and tonumber(file:read("*a"))
      if file then file:close() end
      if other then await_loss(other, "two holders") end -- a killed holder leaves its file
      file = assert(io.open(name, "w"))
      file:write(actor.id)
      file:close()
      rest(0.02)
      os.remove(name)
    end)
  end
end

-- The events of a rank arrive once and in order.
-- case: events flags: --codes 0,3 --faults kill=1,break=1,within=500ms at: rehearsal:4
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

-- A pull that adds up in Lua, like optim.add.
local function adding(engine)
  return function(_, updates)
    local sums, out = {}, {}
    for _, update in ipairs(updates) do
      local key = update[1]
      sums[key] = (sums[key] or engine.get(key)) + update[2]
    end
    for key, value in actor.pairs(sums) do out[#out + 1] = { key, value } end
    return out
  end
end

local unseen = {} -- by id: a missing update, which only a lost worker may have

-- Returns a check of the updates that a founder sees in its steps: under bsp and ssp:S in step k those of the others
-- before step k - S, under bsp no others, and under ssp:S at most those before step k + S + 1. `first`: the first step
-- of each worker.
local function seen_updates(rule)
  local staleness, founders, began = rule == "bsp" and 0 or tonumber(rule:match "^ssp:(%d+)$"), {}, nil
  for _, id in ipairs(require("actor.c.node").workers()) do founders[id] = true end
  return function(step, x, first)
    began = began or step
    for id = 0, staleness and began == 0 and most - 1 or -1 do
      local seen, due = x[id + 1], math.max(0, step - staleness - first[id + 1])
      local largest = math.max(0, step - first[id + 1] + (rule == "bsp" and 0 or staleness + 1))
      assert(seen <= largest, ("step %d has %g updates of worker %d"):format(step, seen, id))
      if seen < due and (seen > 0 or founders[id]) then
        unseen[id] = ("step %d has %g of %g updates of worker %d"):format(step, seen, due, id)
      end
    end
  end
end

local function check_unseen()
  for id, text in actor.pairs(unseen) do await_loss(id, text) end
end

-- The update of a worker: a 1 at its places in the values `x` and `y`, and its first step in `first`.
local size = actor.size < 16 and 300000 or 40000 -- of `y`, which has parts on several nodes
local function update_of(ctx, count)
  local y, first = tensor.zeros(size), tensor.zeros(most)
  y[ctx.id + 1], y[size - ctx.id] = 1, 1
  if count == 0 then first[ctx.id + 1] = ctx.step end
  return { { "first", first }, { "x", own() }, { "y", y } } -- `first` is in each value that has the update
end

local function initial() return { x = tensor.zeros(most), y = tensor.zeros(size), first = tensor.zeros(most) } end

-- The numbers of a worker's updates in the values.
local function counts_of(x, y, id) return { x[id + 1], y[id + 1], y[size - id] } end

-- Each merged update counts once. `policy`: all, drop, buffer or scale; `how`: "lua" merges in Lua, "fp16" filters.
-- With "all" a worker sees all of its own updates, and in step k under bsp and ssp:S the updates of the others before
-- step k - S.
-- case: server {bsp,ssp:1,asp,pssp:2:1@poll:0.3} all at: rehearsal:{1,2,3,5,8}
-- deep: server {bsp,ssp:4,pbsp:2@sticky} all fp16 flags: --servers 3 at: rehearsal:3x2
-- deep: server ssp:4 all fp16 flags: --servers 3 within: 90 at: rehearsal:64
-- deep: server {bsp,ssp:1} all fp16 flags: --codes 0,3 --faults kill=2,join=2,after=760ms,within=300ms at: rehearsal:5
-- case: server {bsp,asp} all lua flags: --codes 0,3 --faults kill=1,join=1,after=760ms,within=300ms at: rehearsal:4
-- case: server bsp all flags: --codes 0,3 --faults kill=1,break=1,within=500ms at: rehearsal:4
-- deep: server ssp:2 drop flags: --codes 0,3 --faults kill=2,break=1,within=400ms at: rehearsal:5
-- case: server asp buffer flags: --codes 0,3 --faults kill=1,stall=1:6s,within=400ms at: rehearsal:4
-- case: server pssp:2:4 scale flags: --codes 0,3 --faults kill=1,one-way=1:6s,within=400ms at: rehearsal:4
-- case: server pbsp:2 all flags: --codes 0,3 --faults kill=1,partition=1:6s,break=1,within=400ms at: rehearsal:4
function jobs.server(rule, policy, how)
  local param, steps, mine = actor.param, 30, 0
  local policies = { all = "all", drop = "drop:1",
    buffer = "buffer:2", scale = "scale" }
  local all = policy == "all"
  local check_seen = seen_updates(all and rule or "")
  local summary = param.run {
    init = initial,
    schedule_local = function() return { "x", "y", "first" } end,
    push = function(ctx, entries)
      rest(0.02)
      local x, y, first = entries[1][2], entries[2][2], entries[3][2]
      for _, seen in ipairs(counts_of(x, y, ctx.id)) do
        assert(seen <= mine and seen >= 0 and (seen == mine or not all), ("%g of %d updates"):format(seen, mine))
      end
      check_seen(ctx.step, x, first)
      mine = mine + 1
      return update_of(ctx, mine - 1)
    end,
    pull = how == "lua" and adding(param) or actor.optim.add(),
    merge = policies[policy],
    filter = how == "fp16" and { push = "fp16", pull = "fp16" } or nil,
    barrier = rule,
    stop = function(ctx) return ctx.step >= steps end,
  }
  if how == "fp16" then
    assert(summary.filter.push.ratio > 1.9 and summary.filter.pull.ratio > 1.9, tostring(summary.filter.push.ratio))
  end
  local x, y = param.get "x", param.get "y"
  -- The last updates of lost workers, where servers merge each frame of a push at once.
  local torn, at_once = 0, all and rule ~= "bsp" and how ~= "lua"
  for id = 0, most - 1 do
    local counts = counts_of(x, y, id)
    local least, largest = math.min(unpack(counts)), math.max(unpack(counts))
    local text = ("worker %d has %g and %g updates"):format(id, least, largest)
    if at_once and largest == least + 1 then
      unseen[id], torn = text, torn + 1
    else
      assert(least == largest, text)
    end
  end
  assert(x[actor.id + 1] <= mine and (x[actor.id + 1] == mine or not all), x[actor.id + 1] .. " of " .. mine)
  if all or policy == "drop" then
    assert(math.abs(x:sum() - summary.updates) <= torn, ("%g updates of %d"):format(x:sum(), summary.updates))
  end
  check_unseen()
end

-- The updates of each live worker count once, and each update is in all parts of a value or in none. A worker sees the
-- same updates as on the server. `how`: "lua" merges in Lua, "sgd" compares the parts of a value whose optimiser has a
-- state.
-- case: peers {bsp,ssp:2} at: rehearsal:{1,2,3,5,8}
-- deep: peers ssp:2 flags: --codes 0,3 --faults kill=1,break=1,within=900ms at: rehearsal:5
-- deep: peers bsp flags: --codes 0,3 --faults crash=1,partition=1:1s,within=900ms at: rehearsal:5
-- case: peers asp flags: --codes 0,3 --faults kill=1,stall=1:6s,break=1,within=900ms at: rehearsal:4
-- deep: peers bsp flags: --codes 0,3 --faults kill=1,one-way=1:6s,within=900ms at: rehearsal:3
-- case: peers {bsp,asp} flags: --codes 0,3 --faults kill=1,join=2,after=800ms,within=500ms at: rehearsal:4
-- case: peers {bsp,asp} lua flags: --codes 0,3 --faults kill=1,break=1,within=500ms at: rehearsal:4
-- deep: peers bsp sgd flags: --codes 0,3 --faults kill=1,break=1,within=500ms at: rehearsal:4
-- Two hosts are killed and a third is cut off: three replicas of a key may be lost, a fourth is not.
-- deep: peers bsp flags: --replicas 4 --codes 0,3 --faults kill=2,break=1,partition=1:700ms,within=900ms at: rehearsal:5
function jobs.peers(rule, how)
  local peer, steps, mine, hashes = actor.peer, 20, 0, {}
  local counted = how ~= "sgd"
  local check_seen = seen_updates(counted and rule or "")
  local keys, values = { "x", "y", "first" }, initial()
  for i = 1, 12 do keys[3 + i], values["k" .. i] = "k" .. i, tensor.zeros(most) end
  local function check(x, y, wanted)
    for id = 0, most - 1 do
      local counts = counts_of(x, y, id)
      assert(counts[2] == counts[3], ("worker %d: an update is in some parts only"):format(id))
      if id == actor.id and counted then
        for _, count in ipairs(counts) do assert(count == wanted, ("%g of %d updates"):format(count, wanted)) end
      end
    end
  end
  peer.run {
    init = function() return values end,
    schedule_local = function() return keys end,
    push = function(ctx, entries)
      rest(0.04)
      local x, y, first = entries[1][2], entries[2][2], entries[3][2]
      if rule == "bsp" then
        check(x, y, mine)
        hashes[ctx.step] = actor.hash { x, y }
      else
        assert(x[ctx.id + 1] == mine or not counted, ("%g of %d updates"):format(x[ctx.id + 1], mine))
      end
      assert(rule ~= "bsp" or not counted or x:max() == ctx.step, "a late worker has not begun at the common step")
      check_seen(ctx.step, x, first)
      local out = update_of(ctx, mine)
      for i = 1, 12 do out[3 + i] = { "k" .. i, own() } end
      mine = mine + 1
      return out
    end,
    pull = how == "lua" and adding(peer) or how == "sgd" and actor.optim.sgd { lr = 1, momentum = 0.9 } or actor.optim.add(),
    barrier = rule,
    stop = function(ctx) return ctx.step >= steps end,
  }
  check(peer.get "x", peer.get "y", mine)
  for i = 1, counted and 12 or 0 do
    local value = peer.get("k" .. i)
    assert(value:min() >= 0 and value:max() <= steps and value[actor.id + 1] == mine, tostring(value))
  end
  check_unseen()
  local all
  repeat all = co.allgather(hashes) until all
  for r = 1, all.n do
    for step, hash in pairs(all[r]) do
      assert(not hashes[step] or hash == hashes[step], "ranks see different values in step " .. step)
    end
  end
end

-- The results are those of a run without faults.
-- case: mapreduce narrow flags: --codes 0,3 --faults kill=1,break=1,within=900ms at: rehearsal:4
-- case: mapreduce wide flags: --codes 0,3 --faults kill=1,break=1,within=1s at: rehearsal:4
-- case: mapreduce wide flags: --codes 0,3 --faults kill=1,stall=1:6s,within=1s at: rehearsal:4
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
-- case: rotator flags: --codes 0,3 --faults kill=1,break=1,within=600ms at: rehearsal:4
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
-- worker takes a part of the others' progress with it. A late joiner adopts the others' mean. `founders`: the first
-- workers.
-- case: averaging all flags: --codes 0,3 --faults kill=1,break=1,within=300ms at: rehearsal:4
-- case: averaging ring flags: --codes 0,3 --faults kill=1,stall=1:4s,within=300ms at: rehearsal:4
-- case: averaging random flags: --codes 0,3 --faults kill=1,one-way=1:6s,within=300ms at: rehearsal:5
-- case: averaging {all,ring,random} 4 flags: --codes 0,3 --faults kill=1,join=2,after=770ms,within=300ms at: rehearsal:4
function jobs.averaging(peers, founders)
  local late = actor.id >= (tonumber(founders) or most)
  local x = tensor.full({ 200 }, late and 1e6 or actor.id)
  local handle = actor.average.start(x, { sync_interval_ms = 5, peers = peers, deadline_ms = 200 })
  local turns = founders and 1 or 2 -- a late joiner makes no collective between the others' turns
  for _ = 1, turns do
    handle:resume()
    for _ = 1, 60 / turns do
      handle:step(function()
        rest(0.01)
        x:add_(0.5)
      end)
    end
    handle:abort()
    check_same(actor.hash(x))
  end
  assert(x:max() - x:min() < 1e-3 and x:min() > 0 and x:max() <= 30 + most, tostring(x))
end

local name = ...
assert(jobs[name], "no job " .. name)(select(2, ...))
