-- A custom barrier rule: no worker is more than two steps ahead of the median. `actorhost --barrier FILE.lua` loads a
-- rule from a file, for any job.
local actor = require "actor"
local param, tensor = actor.param, actor.tensor

local function near_the_median(view) return view.step <= view:quantile(0.5) + 2 end

local furthest = 0

param.run {
  init = function() return { steps = tensor.zeros(actor.size) } end,
  schedule_local = function() return { "steps" } end,
  push = function(ctx, entries)
    local seen = entries[1][2]
    furthest = math.max(furthest, seen:get(ctx.id + 1) - seen:min())
    local mine = tensor.zeros(#seen)
    mine:set(ctx.id + 1, 1)
    return { { "steps", mine } }
  end,
  pull = actor.optim.add(),
  barrier = near_the_median,
  stop = function(ctx) return ctx.step >= 200 end,
}

local steps = param.get("steps")
print(("every worker made 200 steps or more: %s"):format(tostring(steps:min() >= 200)))
print(("rank 0 was at most %d steps ahead of the slowest"):format(furthest))
