-- The job of replay_rule_test.cpp.
local actor = require "actor"

local summary = actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(ctx) return { { ctx.id, true } } end,
  stop = function(ctx) return ctx.step >= 40 end,
}
print("updates: " .. summary.updates)
