-- Merge rules that read and compute updates, and attacks. The first argument selects the job.
local actor = require "actor"
local expect = require "expect"
local values = require "actor.merge.values"
local param, tensor, co = actor.param, actor.tensor, actor.collective
local rng = actor.rng(actor.seed, actor.id or 99)

local jobs = {}

local mine = 0 -- pushes
local function rest() actor.sleep(rng:uniform(0, 0.02)) end

-- The update of a worker's step.
local function update_of(id, step)
  return { w = tensor.full({ 3 }, 1 + id + ((7 * id + 3 * step) % 5) / 4), b = tensor.full({ 1 }, step % 3 - 1) }
end

-- Each worker pushes update_of its step. `changes` replaces fields of the run.
local function run(changes)
  local fields = {
    init = function() return { w = tensor.zeros(3), b = tensor.zeros(1) } end,
    schedule_local = function() return { "w", "b" } end,
    push = function(ctx)
      rest()
      mine = mine + 1
      local update = update_of(ctx.id, ctx.step)
      return { { "w", update.w }, { "b", update.b } }
    end,
    pull = actor.optim.add(),
    stop = function(ctx) return ctx.updates >= 40 end,
  }
  for name, value in pairs(changes) do fields[name] = value or nil end
  mine = 0
  local summary = param.run(fields)
  if actor.role ~= "worker" then return end -- a server, which goes on to the next run
  expect.same(summary.updates + summary.dropped, co.allreduce(tensor.full({ 1 }, mine))[1])
  return summary
end

-- A rule's result as a text.
local function described(result, weight)
  if type(result) == "number" then return ("%.6g"):format(result) end
  if result == "hold" then return weight and ("hold %.6g"):format(weight) or "hold" end
  if type(result) ~= "table" then return tostring(result) end
  if result.values then return ("update %.6g"):format(values.dot(result.values, result.values)) end
  if result.trim then return ("trim %d of %d"):format(result.trim, #result.pushes) end
  local parts = {}
  for push, what in pairs(result) do parts[#parts + 1] = ("%d:%d=%s"):format(push.worker, push.step, tostring(what)) end
  table.sort(parts)
  return table.concat(parts, " ")
end

-- The rule, with an entry in `log` for each decision.
local function logged(text, log)
  local rule = actor.merge.from(text)
  local decide = rule.run
  rule.run = function(view, push)
    local version, result, weight = view.version, decide(view, push)
    log[#log + 1] = {
      worker = push.worker, step = push.step, version = push.version,
      line = ("worker %d, step %d of version %d, %d behind, %d of %d left, at version %d: %s"):format(push.worker,
        push.step, push.version, push.behind, push.left, push.peers, version, described(result, weight)),
      at = version,
    }
    return result, weight
  end
  return rule
end

-- The trace of the simulator in which the steps begin at the versions of the log and end in its order. With `bsp` a
-- step begins when all pushes of the step before have arrived.
local function trace_of(log, bsp)
  local trace, released, applied = { time = {}, event = {}, id = {}, step = {} }, {}, {}
  local function add(event, push, step)
    local n = #trace.event + 1
    trace.time[n], trace.event[n], trace.id[n], trace.step[n] = n, event, push.worker, step
  end
  for worker = 0, actor.size - 1 do add("join", { worker = worker }, 0) end
  for _, push in ipairs(log) do
    for _, other in ipairs(log) do
      if not released[other] and other.version == push.at and other.step == (applied[other.worker] or 0)
        and (not bsp or other.step <= push.step) then
        released[other] = true
        add("release", other, other.step)
      end
    end
    add("apply", push, push.step + 1)
    applied[push.worker] = push.step + 1
  end
  return trace
end

-- The server and the simulator make the same decisions about the pushes of one run, for each of the rules.
-- case: same_decisions drop:1,ringmaster:2,scale,polynomial,decay:0.3:6,delay_adaptive,fedasync flags: --barrier {asp,ssp:1} at: rehearsal:4
-- case: same_decisions gap_aware,heloco,delayed_nesterov:4,buffer:3,fedbuff:3,rennala:2,port:3,step_mean flags: --barrier {asp,ssp:1} at: rehearsal:4
-- case: same_decisions krum:1:1:4,basgd:3,clip:2,centred_clip:3:4,median:4,trimmed_mean:1:4 flags: --barrier {asp,ssp:1} at: rehearsal:4
-- case: same_decisions mean,buffer:3,port:3,median,trimmed_mean:1,krum:1,centred_clip:3,heloco,gap_aware bsp flags: --barrier bsp at: rehearsal:4
function jobs.same_decisions(rules, bsp)
  local train = require "actor.sim.train"
  for text in rules:gmatch("[^,]+") do
    local log = {}
    run {
      merge = logged(text, log),
      stop = function(ctx)
        if ctx.updates < 30 then return false end
        local again, trace = {}, trace_of(log, bsp)
        train.replay(trace, {
          init = function() return {} end,
          gradient = function(_, id, step) return update_of(id, step) end,
          apply = function() end,
          loss = function() return 0 end,
        }, { nodes = actor.size, seed = 1, time = #trace.time }, { merge = logged(text, again), points = 1, bsp = bsp ~= nil })
        assert(#log >= 30, #log)
        for i, decision in ipairs(log) do expect.same(again[i] and again[i].line, decision.line) end
        return true
      end,
    }
  end
end

-- A rule replaces the pushes of a step by one update of its own, reads the values of pushes, and sees its last update.
-- case: own_update flags: --barrier {bsp,asp} at: rehearsal:{1,3}
-- case: own_update lua flags: --barrier {bsp,asp} at: rehearsal:3
function jobs.own_update(how)
  local summary = run {
    pull = how == "lua" and function(_, updates)
      local out, sums = {}, {}
      for _, update in ipairs(updates) do sums[update[1]] = (sums[update[1]] or param.get(update[1])) + update[2] end
      for key, sum in pairs(sums) do out[#out + 1] = { key, sum } end
      return out
    end or nil,
    merge = function(view, push)
      local expected = update_of(push.worker, push.step)
      assert(push.update.w:equal(expected.w) and push.update.b:equal(expected.b))
      if view.last then assert(view.last.w:equal(tensor.full({ 3 }, 2)) and view.last.b[1] == 0) end
      if #view.held < 1 then return "hold" end
      return view:update(view:with(push), { w = tensor.full({ 3 }, 2), b = tensor.zeros(1) })
    end,
  }
  expect.same(param.get("w")[1], summary.updates) -- 2 for each pair
  expect.same(param.get("b")[1], 0)
end

-- A rule reads and replaces tensors of several chunks, and reads the stored value.
-- case: large flags: --barrier {bsp,asp} at: rehearsal:2
function jobs.large()
  local size = 600000
  local summary = run {
    init = function() return { w = tensor.zeros(size) } end,
    schedule_local = function() return { "w" } end,
    push = function(ctx)
      mine = mine + 1
      return { { "w", tensor.full({ size }, 2 + ctx.id) } }
    end,
    merge = function(view, push)
      local w = push.update.w
      assert(w.size == size and w:min() == 2 + push.worker and w:max() == 2 + push.worker)
      assert(view:value("w")[size] == size * view.version)
      if #view.held < 2 then return "hold" end
      return view:update(view:with(push), { w = tensor.arange(1, size + 1) })
    end,
    stop = function(ctx) return ctx.updates >= 9 end,
  }
  local w = param.get "w"
  for _, i in ipairs { 1, size / 2, size } do expect.same(w[i], i * summary.updates / 3) end
end

-- Without pull a push is the new value, and a weight mixes it with the old value.
-- case: mixed {fedasync:0.5:0} flags: --servers {1,3} --barrier {bsp,asp} at: rehearsal:2
function jobs.mixed(rule)
  local size = 70000
  local summary = run {
    pull = false, merge = rule, init = function() return { w = tensor.zeros(size) } end,
    schedule_local = function() return { "w" } end,
    push = function()
      rest()
      mine = mine + 1
      return { { "w", tensor.ones(size) } }
    end,
    stop = function(ctx) return ctx.updates >= 5 end,
  }
  local w, expected = param.get "w", 1 - 0.5 ^ summary.updates
  expect.same(w:min(), expected)
  expect.same(w:max(), expected)
end

-- The attackers' pushes are changed, and robust rules leave them out. Without --attack no push is changed.
-- case: attacked {trimmed_mean:1,median,krum:1} flags: --attack {sign:1:1000,noise:1:1000} --barrier bsp at: rehearsal:4
-- case: attacked all flags: --barrier {bsp,asp} at: rehearsal:4
-- case: attacked {all,mean} harmed flags: --attack {sign:1:1000,noise:2:1000} --barrier bsp at: rehearsal:4
function jobs.attacked(rule, harmed)
  local summary = run {
    push = function(ctx)
      rest()
      mine = mine + 1
      return { { "w", tensor.full({ 3 }, 2 + 0.01 * ctx.id) }, { "b", tensor.ones(1) } }
    end,
    merge = rule, stop = function(ctx) return ctx.step >= 10 end,
  }
  local w = param.get("w")
  if harmed then return assert(w:abs():max() > 10 * summary.updates, tostring(w)) end
  local pushes = rule == "all" and summary.updates or 10 -- one update for each step
  assert(w:min() >= 2 * pushes and w:max() <= 2.04 * pushes, tostring(w))
end

-- Peers apply a rule to their own pushes: weights, drops and own updates count once each.
-- case: peers {half,clip,dropped,own} flags: --barrier {bsp,asp} at: rehearsal:{1,3}
function jobs.peers(what)
  local peer = actor.peer
  local made = {
    half = function(view, push)
      assert(view.workers == actor.size and push:norm() == 3 and push.update.w[1] == 3)
      return 0.5
    end,
    clip = actor.merge.clip(1.5),
    dropped = function(view)
      view.memory.count = (view.memory.count or 0) + 1
      return view.memory.count % 2 == 0 and 1 or "drop"
    end,
    own = function(view, push) return view:update({ push }, { w = push.update.w / 2 }) end,
  }
  local steps = 0
  peer.run {
    init = function() return { w = tensor.zeros(1) } end,
    schedule_local = function() return { "w" } end,
    push = function(ctx)
      rest()
      steps = ctx.step + 1
      return { { "w", tensor.full({ 1 }, 3) } }
    end,
    pull = actor.optim.add(), merge = made[what], stop = function(ctx) return ctx.step >= 8 end,
  }
  local all = co.allreduce(tensor.full({ 1 }, what == "dropped" and math.floor(steps / 2) or steps))[1]
  local sum = peer.get("w")[1]
  assert(math.abs(sum - all * (what == "dropped" and 3 or 1.5)) < 1e-3, sum)
end

-- What peers refuse.
function jobs.refused_by_peers(what)
  local made = {
    staleness = function(_, push) return push.staleness end,
    held = function(view) return #view.held end,
    hold = function() return "hold" end,
    mix = function() return 0.5 end,
    library = "ringmaster:2",
  }
  actor.peer.run {
    init = function() return { w = tensor.zeros(1) } end,
    schedule_local = function() return { "w" } end,
    push = function() return { { "w", tensor.ones(1) } } end,
    pull = what ~= "mix" and actor.optim.add() or nil, merge = made[what], stop = function(ctx) return ctx.step >= 3 end,
  }
end

jobs[(...)](select(2, ...))
