-- The job of server_change_test.cpp.
local actor = require "actor"
local each = require "each_worker"

-- The first run's servers take four seconds to end: longer than the dead-peer timeout.
actor.on_error(function()
  if actor.role ~= "server" then return end
  local over = actor.now() + 4
  repeat until actor.now() > over
  actor.log.info("has ended at last")
end)
local function run()
  return actor.param.run {
    schedule = each(function(id) return { { "work", id } } end),
    push = function(ctx) return { { ctx.id, true } } end,
    stop = function(ctx) return ctx.step >= 3 end,
  }
end
local first, second = run(), run()
print(("steps: %d %d"):format(first.steps, second.steps))
