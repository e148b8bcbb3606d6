-- Decisions of the server about tasks, pushes, barriers and the end of a run, in rehearsals. The first argument selects
-- the job. tests/rehearse/param_policy_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local param, tensor, co = actor.param, actor.tensor, actor.collective
local rng = actor.rng(actor.seed, actor.id or 99)

local jobs = {}

local mine = 0 -- pushes
local function rest() actor.sleep(rng:uniform(0, 0.02)) end

-- Each worker adds 1 to `w` in each step. `changes` replaces fields of the run. All workers return the same summary.
local function run(changes)
  local fields = {
    init = function() return { w = tensor.zeros(1) } end,
    schedule_local = not changes.schedule and function() return { "w" } end or nil,
    push = function()
      rest()
      mine = mine + 1
      return { { "w", tensor.ones(1) } }
    end,
    pull = actor.optim.add(),
    stop = function(ctx) return ctx.step >= 5 end,
  }
  for name, value in pairs(changes) do fields[name] = value end
  local summary = param.run(fields)
  local all = co.allgather(actor.hash(summary))
  for r = 1, all.n do expect.same(all[r], all[1]) end
  return summary
end

local function pushes_of_all() return co.allreduce(tensor.full({ 1 }, mine))[1] end
local function value() return param.get("w")[1] end
-- Entries for `w` for each worker.
local function fetch_for(workers)
  local out = {}
  for _, id in ipairs(workers) do out[id] = { { "w" } } end
  return out
end

-- ---- merge rules ----

-- Late pushes are dropped on every server.
-- case: drop flags: --servers 2 --barrier asp at: rehearsal:4
function jobs.drop()
  local keys = { "a", "b", "c", "d" }
  local summary = run {
    init = function() return { a = tensor.zeros(1), b = tensor.zeros(1), c = tensor.zeros(1), d = tensor.zeros(1) } end,
    schedule_local = function() return keys end,
    push = function()
      rest()
      mine = mine + 1
      local out = {}
      for i, key in ipairs(keys) do out[i] = { key, tensor.ones(1) } end
      return out
    end,
    merge = "drop:1",
    stop = function(ctx) return ctx.updates >= 100 end,
  }
  assert(summary.dropped > 0)
  expect.same(summary.updates + summary.dropped, pushes_of_all())
  for _, key in ipairs(keys) do expect.same(param.get(key)[1], summary.updates) end
end

-- A buffer of four merges the mean of four pushes at a time, and the rest at the end. A rule sees the buffered pushes.
-- case: buffer flags: --servers 2 at: rehearsal:3
function jobs.buffer()
  local counts = { [0] = 0, 0, 0, 0 }
  local summary = run {
    push = function(_, entries)
      rest()
      expect.same(entries[1][2][1] % 2, 0)
      return { { "w", tensor.full({ 1 }, 2) } }
    end,
    merge = "buffer:4",
    barrier = function(view)
      counts[view.buffered] = counts[view.buffered] + 1
      return true
    end,
    stop = function(ctx)
      if ctx.updates < 40 then return false end
      for count = 0, 3 do assert(counts[count] > 3, counts[count]) end
      return true
    end,
  }
  assert(math.abs(value() - 0.5 * summary.updates) < 1e-4, value())
end

-- The mean of each step's pushes is one step of the optimiser.
-- case: mean flags: --servers {1,3} at: rehearsal:3
function jobs.mean()
  local summary = run {
    push = function(ctx)
      rest()
      return { { "w", tensor.full({ 1 }, ctx.id) } }
    end,
    pull = actor.optim.sgd { lr = 1, momentum = 0.9 },
    merge = "mean",
    stop = function(ctx) return ctx.step >= 3 end,
  }
  expect.same(summary.updates, 9)
  assert(math.abs(value() + (1 + 1.9 + 2.71)) < 1e-5, value())
end

-- case: scale flags: --barrier asp at: rehearsal:2
function jobs.scale()
  local summary = run {
    merge = "scale", stop = function(ctx) return ctx.updates >= 60 end,
  }
  assert(value() < summary.updates and value() > 0.2 * summary.updates, value())
end

-- A rule of the job decides about each push once, for any number of servers. It sees the versions of the model, holds
-- pushes, chooses among them and drops some. Under bsp it decides at barriers.
-- case: rule_of_its_own {bsp,ssp:2,asp} flags: --servers {1,3} at: rehearsal:{1,2,5}
function jobs.rule_of_its_own(rule)
  local calls, last = 0, -1
  local summary = run {
    barrier = rule,
    merge = function(view, push)
      calls = calls + 1
      assert(push.staleness >= 0 and push.version <= view.version and view.version >= last)
      assert(push.behind >= 0 and push.left < push.peers and view.workers <= actor.size)
      last = view.version
      for _, held in ipairs(view.held) do assert(held.worker ~= push.worker or held.step < push.step) end
      if #view.held < 2 then return "hold" end
      return { [view.held[1]] = 1, [push] = "drop" } -- the other held push stays
    end,
    stop = function(ctx) return ctx.updates >= 12 end,
  }
  expect.same(summary.updates + summary.dropped, pushes_of_all())
  expect.same(value(), summary.updates)
  assert(summary.updates >= 12 and summary.dropped >= 11 and summary.dropped <= summary.updates + 2)
end

-- Robust rules leave out the wrong pushes of worker 0, and every push is settled once. Trimmed means work on any number
-- of servers. Values have parts on several servers.
-- case: robust {trimmed_mean:1,median,trimmed_mean:1:4,median:5} flags: --servers {1,3} --barrier bsp at: rehearsal:5
-- case: robust {krum:1,krum:1:3,clip:300,krum:1:1:5} flags: --barrier bsp at: rehearsal:5
function jobs.robust(rule)
  local size = 70000
  local summary = run {
    init = function() return { w = tensor.zeros(size), b = tensor.zeros(1) } end,
    schedule_local = function() return { "w", "b" } end,
    push = function(ctx)
      rest()
      mine = mine + 1
      local update = ctx.id == 0 and -1e6 or 1 + 0.01 * ctx.id
      return { { "w", tensor.full({ size }, update) }, { "b", tensor.full({ 1 }, update) } }
    end,
    merge = rule, stop = function(ctx) return ctx.updates >= 40 end,
  }
  expect.same(summary.updates + summary.dropped, pushes_of_all())
  local w, b = param.get("w"), param.get("b")[1]
  assert(w:min() == w:max() and math.abs(w:min() - b) < 1e-3 * math.abs(b), tostring(w:min()))
  assert(b > 1, b)
end

-- A pull in Lua gets the weight of each update, and applies it.
-- case: weights_in_lua flags: --servers {1,3} --barrier {bsp,asp} at: rehearsal:3
function jobs.weights_in_lua()
  local summary = run {
    pull = function(_, updates)
      local sum = param.get "w"
      for _, update in ipairs(updates) do sum = sum + update[2] * (update.weight or 1) end
      return { { "w", sum } }
    end,
    merge = function(_, push) return push.worker == 1 and 1 or 0.25 end, stop = function(ctx) return ctx.updates >= 30 end,
  }
  local of_one = co.allreduce(tensor.full({ 1 }, actor.id == 1 and mine or 0))[1]
  expect.same(value(), of_one + 0.25 * (summary.updates - of_one))
end

-- Products of pushes need one server, and trimmed means an optimiser.
function jobs.refused_rule(how)
  local rules = { norm = function(_, push) return push:norm() end, pull = "median", replace = function() return 0.5 end }
  param.run {
    init = function() return { w = tensor.zeros(1) } end,
    schedule_local = function() return { "w" } end,
    push = function() return { { "w", how == "replace" and 1 or tensor.ones(1) } } end,
    pull = how == "pull" and function(_, updates) return { { "w", updates[1][2] } } end or how == "norm" and actor.optim.add()
      or nil,
    merge = rules[how], barrier = "bsp", stop = function(ctx) return ctx.step >= 5 end,
  }
end

-- Rules are replaced while pushes are in flight and held: every push counts once, with its weight.
-- case: merge_swaps {bsp,asp} flags: --servers {1,3} at: rehearsal:4
-- case: merge_swaps asp checkpoints flags: --servers 3 at: rehearsal:4
function jobs.merge_swaps(rule, checkpoints)
  local function pairs_of_pushes(view) return #view.held < 1 and "hold" or 1 end
  local rules, swaps = { pairs_of_pushes, function() return "hold", 1 end, "all", "drop:0", "all" }, 0
  local summary = run {
    barrier = rule, checkpoint = checkpoints and { steps = 3, dir = os.tmpname() .. "-folder" } or nil,
    stop = function(ctx)
      if swaps < #rules and ctx.seconds > 0.1 * (swaps + 1) then
        swaps = swaps + 1
        if rule == "asp" then expect.raises(function() param.set_merge "mean" end, "needs a barrier rule that is BSP") end
        param.set_merge(rules[swaps])
      end
      return ctx.seconds > 0.7
    end,
  }
  expect.same(summary.updates + summary.dropped, pushes_of_all())
  expect.same(value(), summary.updates)
end

-- The rule of the command line decides.
function jobs.dropped()
  local summary = run { merge = "buffer:7", stop = function(ctx) return ctx.step >= 20 end }
  if actor.rank == 0 then print("merged " .. summary.updates) end
end

function jobs.until_file(name)
  local ready = require "meeting"
  run {
    stop = function(ctx)
      if ctx.updates > 4 then ready.announce("ready") end
      local file = io.open(name)
      return file ~= nil and file:close()
    end,
  }
end

-- A rule that never merges: its pushes are dropped at the end.
function jobs.holds()
  local summary = run { merge = function() return "hold" end, barrier = "asp", stop = function(ctx) return ctx.seconds > 15 end }
  expect.same(summary.updates, 0)
  expect.same(summary.dropped, pushes_of_all())
end

-- A rule that holds pushes replaces another rule during the run.
function jobs.holds_later()
  local function hold() return "hold" end
  local replaced = false
  local summary = run { barrier = "asp", stop = function(ctx)
    if not replaced and ctx.updates >= 3 then
      replaced = true
      actor.param.set_merge(hold)
    end
    return ctx.seconds > 15
  end }
  assert(summary.updates >= 3 and summary.dropped > 0, summary.updates)
end

-- ---- the end of a run ----

-- case: over_at_once at: rehearsal:{1,3}
function jobs.over_at_once()
  expect.same(run { stop = function() return true end }.updates, 0)
end

-- Pushes in flight at the end of --seconds are counted but not merged.
-- case: seconds {all,drop} flags: --seconds 0.3 --barrier {bsp,asp} --servers {1,3} at: rehearsal:3
function jobs.seconds(policy)
  local policies = { all = "all", drop = "drop:1000" }
  local summary = run { merge = policies[policy], stop = function() return false end }
  expect.same(summary.reason, "seconds")
  assert(math.abs(summary.seconds - 0.3) < 0.05 and summary.in_flight > 0, summary.seconds)
  expect.same(value(), summary.updates)
end

-- The run ends while workers fetch the values of their tasks.
-- case: ends_during_fetches flags: --seconds 0.02 --servers 3 at: rehearsal:3
function jobs.ends_during_fetches()
  run { push = function() return { { "w", tensor.ones(1) } } end, stop = function() return false end }
end

-- ---- tasks ----

-- Under bsp a pull in Lua gets whole values of one step, in the order of the workers.
-- case: pull_in_order flags: --servers {1,3} at: rehearsal:3
function jobs.pull_in_order()
  local size = 70000
  local summary = run {
    init = function() return { w = tensor.zeros(size), text = "0" } end,
    schedule_local = function() return { "w", "text" } end,
    push = function(ctx, entries)
      rest()
      local w = entries[1][2]
      assert(w:min() == 3 * ctx.step and w:max() == 3 * ctx.step, tostring(w))
      expect.same(entries[2][2], tostring(ctx.step))
      return { { "w", tensor.ones(size) }, { "text", tostring(ctx.id) } }
    end,
    pull = function(_, updates)
      local out, seen = {}, { w = 0, text = 0 }
      for _, update in ipairs(updates) do
        local key, new, step, id = unpack(update)
        expect.same(step, updates[1][3])
        expect.same(id, seen[key])
        seen[key] = seen[key] + 1
        if key == "text" then expect.same(new, tostring(id)) else expect.same(#new, size) end
      end
      if seen.w > 0 then out[1] = { "w", param.get("w") + seen.w } end
      if seen.text > 0 then out[#out + 1] = { "text", tostring(updates[1][3]) } end
      return out
    end,
    stop = function(ctx) return ctx.step >= 4 end,
  }
  expect.same(summary.updates, 12)
  local w = param.get("w")
  assert(w:min() == 12 and w:max() == 12, tostring(w))
end

-- No push is lost or merged twice when the rule changes.
-- case: swaps flags: --servers {1,3} at: rehearsal:4
function jobs.swaps()
  local rules, swaps = { "asp", "ssp:2", "bsp", "ssp:2" }, 0
  local summary = run {
    stop = function(ctx)
      if swaps < 4 and ctx.seconds > 0.1 * (swaps + 1) then
        swaps = swaps + 1
        param.set_barrier(rules[swaps])
      end
      return ctx.seconds > 0.5
    end,
  }
  expect.same(summary.updates, pushes_of_all())
  expect.same(value(), summary.updates)
end

-- An infinite update of a split value is counted once; with "strict" it is an error.
-- case: infinite flags: --servers 3 at: rehearsal:3
function jobs.infinite(strict)
  local size = 100000
  local summary = run {
    init = function() return { w = tensor.zeros(size) } end,
    push = function(ctx)
      rest()
      return { { "w", tensor.full({ size }, ctx.id == 2 and ctx.step == 1 and math.huge or 0) } }
    end,
    check_finite = strict ~= nil,
  }
  expect.same(summary.non_finite, 1)
end

-- ---- runs that end with an error, or log a wait ----

function jobs.no_work()
  run { schedule = function() return {} end }
end

function jobs.entries_for_no_worker()
  run { schedule = function() return fetch_for { 7 } end }
end

function jobs.misfit()
  run { push = function(ctx) return { { "w", tensor.ones(ctx.id == 1 and 2 or 1) } } end }
end

function jobs.long_step()
  run {
    push = function(ctx)
      actor.sleep(ctx.id == 1 and ctx.step == 2 and 25 or 0.1)
      return { { "w", tensor.ones(1) } }
    end,
    stop = function(ctx) return ctx.step >= 4 or ctx.updates >= 40 end,
  }
end

function jobs.late_worker()
  if actor.id == 2 then actor.sleep(15) end
  run {}
end

jobs[(...)](select(2, ...))
