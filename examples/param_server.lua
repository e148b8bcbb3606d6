-- The smallest parameter server: it deals out random keys, and each worker adds to their values. At the end the sum of
-- all values is the number of updates, for any workers and any barrier.
local actor = require "actor"
local param = actor.param

local keys, rng = 100, actor.rng(actor.seed)

param.register_schedule(function(workers)
  local tasks = {}
  for _, id in ipairs(workers) do
    local key = rng:int(1, keys)
    tasks[id] = { { key, param.get(key) or 0 } }
  end
  return tasks
end)

param.register_push(function(_, entries) return { { entries[1][1], 1 } } end)

param.register_pull(function(updates)
  local values = {}
  for i, update in ipairs(updates) do
    local key, add = update[1], update[2]
    values[i] = { key, (param.get(key) or 0) + add }
    param.set(key, values[i][2])
  end
  return {}
end)

param.register_stop(function(ctx) return ctx.updates >= 1000 end)

local summary = param.start()
local sum = 0
for _, key in ipairs(param.keys()) do sum = sum + param.get(key) end
print(("%d updates by %d workers, sum of all values %d"):format(summary.updates, param.worker_num(), sum))
