-- Jobs of barriers_test.cpp; the first argument selects the job.
local actor = require "actor"

local jobs = {}

-- Every worker counts its steps; the schedule measures the spread of the counts. One of the three workers is slow.
-- `buffered`: the number of updates in a merge.
function jobs.counting(buffered)
  local param, tensor = actor.param, actor.tensor
  local widest = 0

  local summary = param.run {
    init = function() return { steps = tensor.zeros(3) } end,
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "steps" } } end
      return tasks
    end,
    push = function(ctx)
      local mine = tensor.zeros(3)
      mine:set(ctx.id + 1, 1)
      return { { "steps", mine } }
    end,
    merge = buffered and param.merge.buffer { k = tonumber(buffered) },
    pull = actor.optim.add(),
    stop = function(ctx)
      local steps = param.get("steps")
      widest = math.max(widest, steps:max() - steps:min())
      param.set("widest", widest)
      return ctx.step >= 20
    end,
  }
  local steps = param.get("steps")
  print("least: " .. steps:min())
  print("spread: " .. math.max(param.get("widest"), steps:max() - steps:min()))
  print("updates: " .. summary.updates - steps:sum())
end

-- Worker 0 stays in its first push until the others have made 20 steps: the job ends only if the rule permits this.
function jobs.one_stays()
  local param, tensor = actor.param, actor.tensor
  local opt = actor.options { "JOB", swap = "" }

  param.run {
    init = function() return { steps = tensor.zeros(3) } end,
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      return tasks
    end,
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
  print("others: " .. tostring(param.get("steps"):slice(1, 2, 3):min() >= 20))
end

-- Ten steps under the rule of the command line.
function jobs.short()
  local function register()
    actor.param.register_schedule(function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      return tasks
    end)
    actor.param.register_push(function(id) return { { id, true } } end)
    actor.param.register_stop(function(ctx) return ctx.step >= 10 end)
  end
  register()
  print(("%d steps"):format(actor.param.start().steps))
end

function jobs.under_rules_that_are_bsp_by_definition()
  local seen = {}
  actor.param.run {
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
      return tasks
    end,
    push = function(ctx) return { { "x", ctx.id } } end,
    pull = function(_, updates)
      local ids = {}
      for i, update in ipairs(updates) do ids[i] = update[4] end
      seen[#seen + 1] = table.concat(ids, " ")
      return { { "seen", seen } }
    end,
    stop = function(ctx) return ctx.step >= 5 end,
  }
  for _, ids in ipairs(actor.param.get("seen")) do print("round of " .. ids) end
end

function jobs.run_ends_at_seconds_without_merge()
  local summary = actor.param.run {
    init = function() return { x = actor.tensor.zeros(1) } end,
    schedule_local = function() return { "x" } end,
    push = function() return { { "x", actor.tensor.ones(1) } } end,
    pull = actor.optim.add(),
  }
  print(("%s: %d merged, %d in flight, x = %d"):format(summary.reason, summary.updates, summary.in_flight,
    actor.param.get("x"):get(1)))
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
    if row.kind == "rule" then print(row.example) end
  end
end

jobs[(...)](select(2, ...))
