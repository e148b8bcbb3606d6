--- A trainable model for sim.train: linear regression on random samples, y = x . truth + noise. `loss` is the expected
--- loss, computed from the distance between weights and truth, so it has no sampling noise. The dimensions of x have
--- different variances, and this makes the problem hard: a small variance slows the convergence of its weight, and a
--- large variance limits the rate.
local check = require("actor.check")

local kinds = { dims = "number?", batch = "number?", noise = "number?", condition = "number?" }

---@class actor.sim.Linear
---@field weights number[]

---@param options? {dims?: integer, batch?: integer, noise?: number, condition?: number} defaults: 20 dimensions,
---  batches of 4 samples, noise of deviation 0.3; `condition`: the largest variance over the smallest, default 20
---@return actor.sim.Model
return function(options)
  local fn = "models.linear"
  options = check.optional_options(options, kinds, fn)
  local dims, batch = options.dims or 20, options.batch or 4
  local noise, condition = options.noise or 0.3, options.condition or 20
  check.integer(dims, "dims", fn, 1, 1e5)
  check.integer(batch, "batch", fn, 1, 1e6)
  check.number(noise, "noise", fn, 0)
  check.number(condition, "condition", fn, 1)

  local truth, deviation = {}, {}
  for d = 1, dims do deviation[d] = condition ^ (dims > 1 and -(d - 1) / (dims - 1) / 2 or 0) end
  local x = {} -- one sample

  local function add_sample(weights, gradient, rng)
    local wrong = -noise * rng:normal()
    for d = 1, dims do
      x[d] = deviation[d] * rng:normal()
      wrong = wrong + x[d] * (weights[d] - truth[d])
    end
    for d = 1, dims do gradient[d] = gradient[d] + wrong * x[d] / batch end
  end

  return {
    init = function(rng)
      local weights = {}
      for d = 1, dims do truth[d], weights[d] = rng:normal(), 0 end
      return { weights = weights }
    end,
    gradient = function(params, _, _, rng)
      local gradient = {}
      for d = 1, dims do gradient[d] = 0 end
      for _ = 1, batch do add_sample(params.weights, gradient, rng) end
      return gradient
    end,
    apply = function(params, update, scale)
      local weights = params.weights
      for d = 1, dims do weights[d] = weights[d] - scale * update[d] end
    end,
    loss = function(params)
      local sum = noise * noise
      for d = 1, dims do
        local distance = deviation[d] * (params.weights[d] - truth[d])
        sum = sum + distance * distance
      end
      return sum / 2
    end,
    -- `nodes` updates are in flight at the same time, so training converges if the sum of their rates is below a limit:
    -- 2 under bsp, somewhat more under asp. The default is near the limit, where the rules differ: the loss gets noisy
    -- first under a rule that never waits.
    rate = function(updates, nodes) return 1.6 / nodes / math.sqrt(1 + updates / (20 * nodes)) end,
  }
end
