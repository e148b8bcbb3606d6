-- The job of replay_rule_test.cpp.
local actor = require "actor"
local each = require "each_worker"

local summary = actor.param.run {
  schedule = each(function(id) return { { "work", id } } end),
  push = function(ctx) return { { ctx.id, true } } end,
  stop = function(ctx) return ctx.step >= 40 end,
}
print("updates: " .. summary.updates)
