-- The training step of kernel_bench in Lua: `actorhost tests/bench/mlp.lua`. Best of 10 runs of 100 steps by the
-- process's CPU time, and the cost of one operation on few elements.
local nn, optim, tensor = require "actor.nn", require "actor.optim", require "actor.tensor"

local model = nn.sequential { nn.linear(784, 128, { seed = 1 }), nn.relu(), nn.linear(128, 10, { seed = 2 }) }
local x, labels = tensor.uniform({ 128, 784 }, { seed = 3 }), tensor.ones(128)
local opt, best = optim.sgd { lr = 1e-3 }, math.huge
for _ = 1, 10 do
  local start = os.clock()
  for _ = 1, 100 do
    model:loss(x, labels)
    opt:step(model.params, model.grads)
  end
  best = math.min(best, (os.clock() - start) / 100)
end
print(("%-5s MLP step of 128 in Lua: %.0f us, %.0f images/s"):format(tensor.isa, best * 1e6, 128 / best))

local small, count, start = tensor.ones(16), 200000, os.clock()
for _ = 1, count do small:mul_(1) end
local each = (os.clock() - start) / count
print(("%-5s one operation on 16 elements from Lua: %.0f ns"):format(tensor.isa, each * 1e9))
