-- Barrier rules: the first argument selects the job. barriers_test.cpp has further runs of it.
local actor = require "actor"
local each = require "each_worker"
local expect = require "expect"

local jobs = {}

-- Every worker counts its steps; the schedule measures the spread of the counts. One of the three workers is slow.
-- Every update counts, and the spread is at most `most`. `buffered`: the number of updates in a merge.
-- case: counting flags: --inject straggler=0.34:4x,delay=uniform(0,0.002) --barrier {asp,pbsp:2,pbsp:1@sticky,pssp:2:4,quorum:0.8:1,backup:1} at: threads isolate
-- case: counting 1 flags: --inject straggler=0.34:4x,delay=uniform(0,0.002) --barrier {bsp,ssp:0} at: threads isolate hosts
-- case: counting 2 flags: --inject straggler=0.34:4x,delay=uniform(0,0.002) --barrier ssp:1 at: threads isolate hosts
-- case: counting 5 flags: --inject straggler=0.34:4x,delay=uniform(0,0.002) --barrier ssp:4 at: threads isolate hosts
-- case: counting 0 3 flags: --barrier jobs/barrier_rules.lua:merged at: threads
function jobs.counting(most, buffered)
  local param, tensor = actor.param, actor.tensor
  local widest = 0

  local summary = param.run {
    init = function() return { steps = tensor.zeros(3) } end,
    schedule = each(function(id) return { { "steps" } } end),
    push = function(ctx)
      local mine = tensor.zeros(3)
      mine:set(ctx.id + 1, 1)
      return { { "steps", mine } }
    end,
    merge = buffered and "buffer:" .. buffered,
    pull = actor.optim.add(),
    stop = function(ctx)
      local steps = param.get("steps")
      widest = math.max(widest, steps:max() - steps:min())
      param.set("widest", widest)
      return ctx.step >= 20
    end,
  }
  local steps = param.get("steps")
  assert(buffered or steps:min() >= 20 and summary.updates == steps:sum())
  assert(math.max(param.get("widest"), steps:max() - steps:min()) <= tonumber(most or math.huge))
end

-- Worker 0 stays in its first push until the others have made 20 steps: the job ends only if the rule permits this.
-- case: one_stays flags: --barrier {asp,ssp:30,pbsp:0,quorum:0.6,backup:1,ksync:2,partial:0.6,delay_bounded:0.01:bsp} at: threads
-- case: one_stays --swap {asp,backup:1} flags: --barrier bsp at: threads
function jobs.one_stays()
  local param, tensor = actor.param, actor.tensor
  local opt = actor.options { "JOB", swap = "" }

  param.run {
    init = function() return { steps = tensor.zeros(3) } end,
    schedule = each(function(id) return { { "work", id } } end),
    push = function(ctx)
      while ctx.id == 0 and param.get("steps"):slice(1, 2, 3):min() < 20 do end
      local mine = tensor.zeros(3)
      mine:set(ctx.id + 1, 1)
      return { { "steps", mine } }
    end,
    pull = actor.optim.add(),
    stop = function(ctx)
      if ctx.updates == 0 and opt.swap ~= "" then param.set_barrier(opt.swap) end
      return ctx.step >= 1
    end,
  }
  assert(param.get("steps"):slice(1, 2, 3):min() >= 20)
end

-- Ten steps under the rule of the command line, which may be from a file of several rules, or nested in another rule.
-- case: short flags: --barrier jobs/barrier_rules.lua:{close,far} at: threads
-- case: short flags: --barrier delay_bounded:0.01:{jobs/barrier_rules.lua:never,sample:2:jobs/barrier_rule.lua@sticky} at: threads isolate hosts
-- case: short flags: --barrier jobs/barrier_rule.lua at: threads
function jobs.short()
  local function register()
    actor.param.register_schedule(each(function(id) return { { "work", id } } end))
    actor.param.register_push(function(id) return { { id, true } } end)
    actor.param.register_stop(function(ctx) return ctx.step >= 10 end)
  end
  register()
  assert(actor.param.start().steps >= 10)
end

-- With as many workers as buffer slots, no worker continues before all have pushed. A worker without any work yet must
-- not wait: it may join after the other workers have pushed.
-- case: under_rules_that_are_bsp_by_definition flags: --barrier {bsp,backup:0,quorum:1,partial:1,jobs/barrier_rules.lua:strict} at: threads
function jobs.under_rules_that_are_bsp_by_definition()
  local seen = {}
  actor.param.run {
    schedule = each(function(id) return { { "work", id } } end),
    push = function(ctx) return { { "x", ctx.id } } end,
    pull = function(_, updates)
      local ids = {}
      for i, update in ipairs(updates) do ids[i] = update[4] end
      seen[#seen + 1] = table.concat(ids, " ")
      return { { "seen", seen } }
    end,
    stop = function(ctx) return ctx.step >= 5 end,
  }
  expect.same(table.concat(actor.param.get("seen"), ", "), "0 1 2, 0 1 2, 0 1 2, 0 1 2, 0 1 2")
end

-- Updates in flight at the time of --seconds are counted but not merged.
-- case: run_ends_at_seconds_without_merge flags: --barrier {bsp,asp} --seconds 0.2 --inject delay=0.5 at: threads isolate
function jobs.run_ends_at_seconds_without_merge()
  local summary = actor.param.run {
    init = function() return { x = actor.tensor.zeros(1) } end,
    schedule_local = function() return { "x" } end,
    push = function() return { { "x", actor.tensor.ones(1) } } end,
    pull = actor.optim.add(),
  }
  assert(summary.reason == "seconds" and summary.updates == 0 and summary.in_flight == 3)
  expect.same(actor.param.get("x"):get(1), 0)
end

function jobs.of_rule_that_was_put_in_while_job_runs()
  local param = require("actor").param
  local function stuck() while true do end end
  param.run {
    init = function() return { x = 0 } end,
    schedule_local = function() return { "x" } end,
    push = function(_, entries) return entries end,
    pull = function(_, entries) return entries end,
    stop = function(ctx)
      if ctx.step == 2 then param.set_barrier(stuck) end
      return ctx.step > 5
    end,
  }
end

function jobs.list()
  for _, row in ipairs(require("actor.barrier").list()) do
    print(row.example)
  end
end

jobs[(...)](select(2, ...))
