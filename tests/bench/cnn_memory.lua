-- Checks that training does not leak memory: the CNN of cnn.lua makes 10,000 steps, each with a new batch and momentum.
-- Each line shows, after a tenth of the steps, the resident memory of the process in MB after a Lua garbage collection.
-- Takes some minutes.
--   actorhost -n 1 --log-level warn tests/bench/cnn_memory.lua [--steps 10000] [--batch 8]
local actor = require "actor"
local resident = require "resident"
local data, nn, optim = actor.data, actor.nn, actor.optim
local opt = actor.options { steps = 10000, batch = 8 }

local net = nn.input { 28, 28, 1 }:normalisation { decay = 0.9 }:conv2d { 5, 5, 1, 32, stride = 1, act = "relu" }
  :max_pool2d { 2, 2 }:dropout(0.1):fully_connected(1024, "relu"):linear(10, "softmax"):network { seed = actor.seed }
local set = data.digits { n = 6000, seed = actor.seed }
local rng, sgd = actor.rng(actor.seed), optim.sgd { lr = 0.005, momentum = 0.9 }

local function step()
  local positions = {}
  for i = 1, opt.batch do positions[i] = rng:int(1, set.n) end
  local loss = net:loss(set:batch(positions))
  sgd:step({ net.flat_params }, { net.flat_grads })
  return loss
end

local tenth, began = math.floor(opt.steps / 10), actor.now()
local marks, loss = {}, nil
for mark = 1, 10 do
  for _ = 1, tenth do loss = step() end
  marks[mark] = resident()
  print(("%6d steps %7.1f s  loss %.4f  %7.1f MB"):format(mark * tenth, actor.now() - began, loss, marks[mark]))
end
print(("seed %d, batch %d: %.2f KB more for each step of the second half"):format(actor.seed, opt.batch,
  (marks[10] - marks[5]) * 1024 / (5 * tenth)))
