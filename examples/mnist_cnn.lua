-- MNIST with a convolutional net, trained in one of four ways: --mode one (one node), allreduce (the ranks' gradients
-- are averaged in each step), average (asynchronous model averaging) or server (parameter server, under any --barrier).
-- Each rank trains on its part of the images. One epoch takes 20 to 60 s on two cores.
local actor = require "actor"
local co, data, optim = actor.collective, actor.data, actor.optim
local cnn = require "models.cnn"

local opt = actor.options {
  data = "", mode = { "one", "allreduce", "average", "server" }, epochs = 5, batch = 128, lr = 0.05, small = false,
}
local set = data.mnist(opt.data ~= "" and opt.data or nil)
local images, labels = set.test:batch(data.range(1, set.test.n))
local net = cnn(actor.seed, actor.rank or 0, opt.small)

-- Parts of equal size, so that all ranks make the same number of steps.
local rows = data.split(set.train.n - set.train.n % actor.size, { seed = actor.seed })
local size = math.max(1, math.floor(opt.batch / actor.size)) -- all ranks together use --batch images in a step
local per_epoch = math.ceil(#rows / size)

-- The rate falls to 0 over the `steps` of an optimiser.
local function sgd(steps, momentum, clip_norm)
  local decay = optim.decay.cosine { every = steps }
  return optim.sgd { lr = opt.lr, momentum = momentum, clip_norm = clip_norm, decay = decay }
end

local began = actor.now()
local function report(epoch)
  local _, accuracy = net:evaluate(images, labels)
  print(("epoch %d: test accuracy %.2f %%, %.1f s"):format(epoch, 100 * accuracy, actor.now() - began))
end

local plan, number = data.batches { of = rows, size = size, epochs = opt.epochs, seed = actor.seed }, 0
local function batch()
  number = number + 1
  return set.train:batch(plan:positions(number))
end

local modes = {}

local function fit(before_step)
  net:fit {
    set = set.train, rows = rows, batch = size, epochs = opt.epochs, seed = actor.seed,
    optimiser = sgd(opt.epochs * per_epoch, 0.9), before_step = before_step,
    on_epoch = function(entry)
      if actor.rank == 0 then report(entry.epoch) end
    end,
  }
end

function modes.one()
  if actor.size > 1 then error("--mode one is for one node (-n 1); got " .. actor.size, 0) end
  fit()
end

function modes.allreduce()
  fit(function() co.allreduce(net.flat_grads, "mean", { inplace = true }) end)
end

function modes.average()
  -- Each rank trains alone with a part of --batch. The gradients of a part vary more, so they are clipped.
  local here = sgd(opt.epochs * per_epoch, 0.9, 1)
  local handle = actor.average.start(net.flat_params, { deadline_ms = 60000 })
  for epoch = 1, opt.epochs do
    for _ = 1, per_epoch do
      handle:step(function() net:loss(batch()) end, function() here:step({ net.flat_params }, { net.flat_grads }) end)
    end
    if epoch == opt.epochs then handle:abort() end -- all ranks have the same model now
    handle:lock() -- no round changes the model meanwhile
    if actor.rank == 0 then report(epoch) end
    handle:unlock()
  end
end

-- Each push is an update from a part of --batch. Updates computed from older weights act like momentum, so the
-- optimiser has none. Gradients are clipped: without clipping the first updates under asp end in NaN.
function modes.server()
  actor.param.train {
    net = net,
    batch = function() -- `net` has the weights that were fetched for this step
      if number == plan:count() then number = 0 end -- a fast worker starts again until all updates have arrived
      if actor.rank == 0 and number > 0 and number % per_epoch == 0 then report(number / per_epoch) end
      return batch()
    end,
    pull = sgd(opt.epochs * per_epoch, 0, 1),
    stop = function(ctx) return ctx.updates >= opt.epochs * per_epoch * actor.size end,
  }
  if actor.rank == 0 then report(opt.epochs) end
end

print(("data: %s, %d images to train, %d to test; %d weights"):format(set.source, set.train.n, set.test.n,
  #net.flat_params))
modes[opt.mode]()
