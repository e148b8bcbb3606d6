-- Trains the net of examples/models/cnn.lua by synchronous SGD on the parameter server, then prints the seed, the used
-- kernels and the hash of the weights. identical_test.cpp compares these between places and instruction sets. By hand,
-- with the full net and MNIST, from a folder that has this file and models/cnn.lua:
--     actorhost -n 3 --seed 1 identical.lua --full --data DIR --batch 128
local actor = require "actor"
local data, optim, param = actor.data, actor.optim, actor.param
local cnn = require "models.cnn"

local opt = actor.options { data = "", full = false, steps = 8, batch = 16 }
local train = opt.data == "" and data.digits { n = 600, seed = actor.seed } or data.mnist(opt.data).train
local net = cnn(actor.seed, actor.rank or 0, not opt.full)
local rng = actor.rng(actor.seed, actor.rank or 0)

local summary = param.train {
  net = net,
  batch = function()
    local positions = {}
    for i = 1, opt.batch do positions[i] = rng:int(1, train.n) end
    return train:batch(positions)
  end,
  pull = optim.sgd { lr = 0.02, momentum = 0.9 },
  barrier = "bsp", merge = "mean",
  stop = function(ctx) return ctx.step >= opt.steps end,
}

if actor.rank == 0 then
  print("seed: " .. actor.seed)
  print("kernels: " .. require("ffi").string(require("actor.tensor.base").api.isa))
  print(("steps: %d of %d workers, %d weights, all finite: %s"):format(summary.steps, actor.size, #net.flat_params,
    net.flat_params:is_finite()))
  print("weights: " .. actor.hash(net.flat_params))
end
