-- The job of agent_test.cpp.
local actor = require "actor"

local words, deep = require "words", require "lib.deep"
actor.log.info("%s %d", words.greeting, deep.value)
local summary = actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(ctx) return { { ctx.id, deep.value } } end,
  stop = function(ctx) return ctx.step >= 10 end,
}
local sum = 0
for _, key in ipairs(actor.param.keys()) do sum = sum + actor.param.get(key) end
print(("sum of %d workers: %d, args: %s"):format(actor.size, sum, table.concat(actor.args, " ")))
