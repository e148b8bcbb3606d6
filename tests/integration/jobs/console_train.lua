-- For chunks_test.cpp: a chunk with definitions for later chunks.
tensor = actor.tensor

-- Counts on the parameter server up to `limit`; each push takes `seconds`.
function train(seconds, limit)
  return actor.param.run({
    init = function() return { w = tensor.zeros { 3 } } end,
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { "w" } } end
      return tasks
    end,
    push = function()
      if seconds then actor.sleep(seconds) end
      return { { "w", tensor.full({ 3 }, 1) } }
    end,
    pull = actor.optim.add(),
    stop = function(ctx) return ctx.updates >= limit end,
  }).reason
end
