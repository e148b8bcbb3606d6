-- Jobs for terminate_test.cpp: they receive SIGTERM while they work.
local actor = require("actor")
local each = require "each_worker"
local tensor = actor.tensor

local jobs = {}

-- Counts pushes: the value of "sum" is the number of merged updates. Scheduled checkpoints are far apart. With "long"
-- the step after the fifth does not end.
function jobs.served(barrier, long)
  local steps = 0
  local summary = actor.param.run {
    init = function() return { sum = tensor.zeros { 1 } } end,
    schedule = each(function() return { { "sum" } } end),
    push = function()
      if actor.rank == 0 and steps == 5 then print("works") end
      actor.sleep(long and steps == 5 and 1000 or 0.01)
      steps = steps + 1
      return { { "sum", tensor.ones { 1 } } }
    end,
    pull = actor.optim.add(),
    barrier = barrier,
    checkpoint = { steps = 1e6 },
    stop = function(ctx) return ctx.updates >= 1e6 end,
  }
  print(("sum %d of %d"):format(actor.param.get("sum"):get(1), summary.updates))
end

-- Holds its own state; saves it only on SIGTERM.
function jobs.kept(ranks, names)
  local keepers, states = {}, {}
  for name in (names or "state"):gmatch("%a+") do
    keepers[#keepers + 1] = actor.checkpoint.new { name = name, ranks = ranks, steps = 1e6 }
    states[#keepers] = keepers[#keepers]:load() or { step = 0, sum = tensor.zeros { 1 } }
  end
  local from = states[1].step
  if actor.rank == 0 then print("from " .. from) end
  while states[1].step < 1e6 do
    local one = actor.collective.allreduce(tensor.ones { 1 }, "sum")
    for i, keeper in ipairs(keepers) do
      states[i] = { step = states[i].step + 1, sum = states[i].sum + one }
      keeper:save(states[i])
    end
    if actor.rank == 0 and states[1].step == from + 20 then print("works") end
  end
end

-- A map-reduce iteration, whose state is on the server. The previous iteration is complete.
function jobs.iterated()
  local mr = require "actor.mapreduce"
  local function iterate(steps)
    return mr.range(1, 10):iterate {
      state = 0, steps = steps, checkpoint = { steps = 1e6 },
      step = function(rows)
        actor.sleep(0.005)
        return #rows
      end,
      merge = function(state)
        if state == 10 then actor.log.info("works") end
        return state + 1
      end,
    }
  end
  iterate(2)
  iterate(1e6)
end

-- Has no checkpoints.
function jobs.none()
  print("works")
  while true do actor.sleep(0.01) end
end

-- Never reaches another save.
function jobs.stuck()
  actor.checkpoint.new({ steps = 1e6 }):save {}
  jobs.none()
end

local name = ...
jobs[name](select(2, ...))
