-- The job of siege_test.cpp.
local actor = require "actor"

-- Counts its own updates until a file "enough" exists.
local param, tensor = actor.param, actor.tensor
local logged = false
local summary = param.run {
  init = function() return { count = tensor.zeros({ 1 }, { dtype = "float64" }) } end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "count" } } end
    return tasks
  end,
  push = function() return { { "count", tensor.ones({ 1 }, { dtype = "float64" }) } } end,
  pull = actor.optim.add(),
  stop = function(ctx)
    if ctx.updates > 200 and not logged then
      actor.log.info("well under way")
      logged = true
    end
    return logged and io.open("enough") ~= nil
  end,
}
print(("updates: %d"):format(summary.updates))
print(("not counted: %d, lost: %d"):format(summary.updates - param.get("count"):get(1), summary.lost))
