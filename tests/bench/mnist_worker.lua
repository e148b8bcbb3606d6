-- The run of examples/python/mnist_torch.py with workers in Lua: the same network, rule, rate, size of batches and
-- number of updates, each worker in its own process. Worker 0 rests, as there. Run the commands of that file beside it.
--
--     actorhost -n 5 --isolate --threads-per-node 1 tests/bench/mnist_worker.lua
local actor = require "actor"
local data, nn, param = actor.data, actor.nn, actor.param

local opt = actor.options { updates = 2000, lr = 0.05, batch = 64 }
local set = data.mnist()
local rng = actor.rng(actor.seed, actor.id or 0)
local net = nn.sequential {
  nn.linear(784, 128, { seed = actor.seed }), nn.relu(), nn.linear(128, 10, { seed = actor.seed + 1 }),
}
local names = {}
for name in actor.pairs(net.params) do names[#names + 1] = name end

local function chosen()
  local rows = {}
  for i = 1, opt.batch do rows[i] = rng:int(1, set.train.n) end
  return rows
end

local summary = param.run {
  init = function() return net.params end,
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do
      if id ~= 0 then
        tasks[id] = {}
        for i, name in ipairs(names) do tasks[id][i] = { name } end
      end
    end
    return tasks
  end,
  push = function(_, entries)
    local values, updates = {}, {}
    for _, entry in ipairs(entries) do values[entry[1]] = entry[2] end
    net:load(values)
    net:loss(set.train:batch(chosen()))
    for i, name in ipairs(names) do updates[i] = { name, net.grads[name] } end
    return updates
  end,
  pull = actor.optim.sgd { lr = opt.lr },
  barrier = "ssp:4",
  stop = function(ctx) return ctx.updates >= opt.updates end,
}

if actor.rank == 0 then
  local values = {}
  for i, value in ipairs(param.get(names)) do values[names[i]] = value end
  net:load(values)
  print(("%d updates in %.1f s, %d workers lost"):format(summary.updates, summary.seconds, summary.lost))
  print(("test accuracy: %.2f %%"):format(100 * net:accuracy(set.test:batch(data.range(1, set.test.n)))))
end
