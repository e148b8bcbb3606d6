-- The job of usage_test.cpp.
local actor = require "actor"

-- Returns a wrong value from the callback that the first argument names.
local name, value = actor.args[1], actor.args[2]
local values = { number = 7, text = "seven", flat = { "a", 1 }, map = { a = 1 }, fn = { { "a", print } }, key = { { {}, 1 } },
  stranger = { [9] = { { "work", 1 } } }, nothing = {} }
local function wrong() return values[value] end
local run = {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(ctx) return { { ctx.id, true } } end,
  stop = function(ctx) return ctx.step >= 10 end,
}
run[name] = wrong
if name == "schedule_local" then run.schedule = nil end
actor.param.run(run)
