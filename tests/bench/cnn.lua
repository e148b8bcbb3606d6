-- The CNN of the MNIST experiment in `actor.nn`: milliseconds of a training step (with SGD) and of inference, batch
-- 128, random images; CPU time of one thread, wall time of several. cnn_bench calls the same kernels from C++.
--   actorhost --threads-per-node 1 tests/bench/cnn.lua [--rounds 11]
local actor = require "actor"
local nn, optim, tensor = actor.nn, actor.optim, actor.tensor
local opt = actor.options { rounds = 11, steps = 10, threads = 1 } -- must equal --threads-per-node
local now = opt.threads == 1 and os.clock or actor.now

local net = nn.input { 28, 28, 1 }:normalisation { decay = 0.9 }:conv2d { 5, 5, 1, 32, stride = 1, act = "relu" }
  :max_pool2d { 2, 2 }:dropout(0.1):fully_connected(1024, "relu"):linear(10, "softmax"):network { seed = 1 }
local x, y = tensor.uniform({ 128, 784 }, { seed = 1 }), tensor.integers({ 128 }, 1, 10, { seed = 2 })
local sgd, params, grads = optim.sgd { lr = 0.01 }, { net.flat_params }, { net.flat_grads }

local function median_ms(f)
  for _ = 1, 3 do f() end
  local times = {}
  for round = 1, opt.rounds do
    local began = now()
    for _ = 1, opt.steps do f() end
    times[round] = (now() - began) / opt.steps * 1e3
  end
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

print(("training step %.2f ms"):format(median_ms(function()
  net:loss(x, y)
  sgd:step(params, grads)
end)))
print(("inference %.2f ms"):format(median_ms(function() net:forward(x) end)))
