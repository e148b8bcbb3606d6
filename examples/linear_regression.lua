-- Linear regression through the parameter server: `actorhost -n 4 examples/linear_regression.lua [--barrier ssp:4]`.
-- Each rank has its part of the samples and sends the gradients of its batches; server 0 merges them with `pull`.
local actor = require "actor"
local param, optim, data, tensor = actor.param, actor.optim, actor.data, actor.tensor
local opt = actor.options { n = 8192, dims = 20, batch = 64, steps = 400, lr = 0.2 }

local set = data.regression { n = opt.n, dims = opt.dims, seed = actor.seed } -- y = x . weights + bias + noise
local mine = data.split(set, { seed = actor.seed })
local plan = data.batches { of = mine, size = opt.batch, epochs = math.huge, seed = actor.seed }

local function errors(x, y, w, b) return x:matmul(w) + b - y end

local steps = 0
local summary = param.run {
  init = function() return { w = tensor.zeros(opt.dims), b = tensor.zeros(1) } end,
  schedule_local = function() return { "w", "b" } end,
  push = function(_, entries)
    steps = steps + 1
    local positions = plan:positions(steps)
    local x, y = data.batch(set.x, positions), data.batch(set.y, positions)
    local off = errors(x, y, entries[1][2], entries[2][2])
    if steps % 100 == 1 then print(("step %d: loss %.4f"):format(steps, off:square():mean())) end
    return { { "w", x:transpose():matmul(off) / #off }, { "b", off:mean(1, true) } }
  end,
  -- The updates of all workers add up. The rate rises for some steps, then falls as 1 / t.
  pull = optim.sgd {
    lr = opt.lr / actor.size, clip_norm = 10,
    decay = optim.decay.warm_up { steps = 20, next = optim.decay.inverse_time { rate = 1, every = 100 } },
  },
  stop = function(ctx) return ctx.step >= opt.steps end,
}

local w, b = param.get("w"), param.get("b")
print(("loss after %d updates by %d workers: %.4f"):format(summary.updates, actor.size,
  errors(set.x, set.y, w, b):square():mean()))
print(("distance to the true weights: %.4f"):format((w - set.weights):norm()))
