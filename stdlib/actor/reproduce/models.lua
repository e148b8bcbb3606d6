--- Models for published experiments: a quadratic, and local steps of any model.
local check = require("actor.check")
local new_rng = require("actor.rng")
local values = require("actor.merge.values")

local M = {}

local kinds = { dims = "number?", condition = "number?", noise = "number?", spread = "number?", heavy = "boolean?" }

-- A number with a heavy tail: Student's t with three degrees of freedom, which has a variance but no third moment.
local function heavy(rng)
  local squares = rng:normal() ^ 2 + rng:normal() ^ 2 + rng:normal() ^ 2
  return rng:normal() / math.sqrt(squares / 3)
end

---Makes a quadratic, sum of curvature * (w - centre)^2 / 2. Its curvatures are between 1 and 1 / condition. Each node's
---centre differs from the common centre by a normal number of deviation `spread`; the differences of all nodes have
---the sum 0. A gradient has normal noise of deviation `noise` in each dimension, or noise with a heavy tail. The loss
---is that of the common centre, so its least value is 0.
---@param options? {dims?: integer, condition?: number, noise?: number, spread?: number, heavy?: boolean} defaults: 20
---  dimensions, condition 20, noise 0.3, spread 0
---@return actor.sim.Model
function M.quadratic(options)
  options = check.optional_options(options, kinds, "models.quadratic")
  local dims, condition, noise = options.dims or 20, options.condition or 20, options.noise or 0.3
  local spread, draw = options.spread or 0, options.heavy and heavy or function(rng) return rng:normal() end
  local centre, curvature, offsets, nodes = {}, {}, {}, 1
  for d = 1, dims do curvature[d] = condition ^ (dims > 1 and -(d - 1) / (dims - 1) or 0) end

  local function draw_offsets(seed)
    for id = 0, nodes - 1 do
      local random = new_rng(seed, id + 1)
      offsets[id] = {}
      for d = 1, dims do offsets[id][d] = spread * random:normal() end
    end
    for d = 1, dims do
      local mean = 0
      for id = 0, nodes - 1 do mean = mean + offsets[id][d] / nodes end
      for id = 0, nodes - 1 do offsets[id][d] = offsets[id][d] - mean end
    end
  end

  return {
    init = function(rng, setup)
      local start = {}
      nodes = setup.nodes
      for d = 1, dims do centre[d], start[d] = rng:normal(), 0 end
      draw_offsets(setup.seed)
      return start
    end,
    gradient = function(params, id, _, rng)
      local gradient, offset = {}, offsets[id % nodes]
      for d = 1, dims do gradient[d] = curvature[d] * (params[d] - centre[d] - offset[d]) + noise * draw(rng) end
      return gradient
    end,
    apply = function(params, update, scale)
      for d = 1, dims do params[d] = params[d] - scale * update[d] end
    end,
    loss = function(params)
      local sum = 0
      for d = 1, dims do sum = sum + curvature[d] * (params[d] - centre[d]) ^ 2 end
      return sum / 2
    end,
    rate = function() return 0.1 end,
  }
end

local function copy(params)
  return values.map(function(x) return type(x) == "number" and x or x:clone() end, params)
end

---Makes a model with local steps, as a round of federated averaging: its update is the difference of the parameters
---from the begin to the end of `steps` steps with the rate `rate`. `steps` may be a function of the node.
---@param model actor.sim.Model its parameters and updates have the same shape
---@param steps integer|fun(id: integer): integer
---@param rate number
---@return actor.sim.Model
function M.local_steps(model, steps, rate)
  local out = {}
  for name, field in pairs(model) do out[name] = field end
  out.gradient = function(params, id, step, rng)
    local own = copy(params)
    for _ = 1, type(steps) == "function" and steps(id) or steps do
      model.apply(own, model.gradient(own, id, step, rng), rate)
    end
    return values.added(copy(params), -1, own)
  end
  out.rate = 1
  return out
end

return M
