--- The weights of layers: their initial values, and one tensor for all of them. A layer declares its weights,
--- `weights = { bias = { shape = { 10 }, init = "zeros" } }`; `realise` makes them, as `layer.params` and
--- `layer.grads`.
local check = require("actor.check")
local base = require("actor.tensor.base")
local tensor = require("actor.tensor")
local util = require("actor.util")

local M = {}

---@class actor.nn.Weight what a layer declares
---@field shape integer[]
---@field init string|number|fun(shape: integer[], rng: actor.Rng, inputs: integer, outputs: integer): actor.Tensor
---@field inputs? integer number of input values of each output
---@field outputs? integer number of outputs of each input
---@field l1? number regularisation: l1 * sum |w| is added to the loss
---@field l2? number l2 / 2 * sum w^2 is added to the loss

local function normal(deviation)
  return function(weight, generator, dtype)
    return tensor.normal(weight.shape, { std = deviation(weight), rng = generator, dtype = dtype })
  end
end

local function uniform(deviation)
  return function(weight, generator, dtype)
    local limit = math.sqrt(3) * deviation(weight)
    return tensor.uniform(weight.shape, { low = -limit, high = limit, rng = generator, dtype = dtype })
  end
end

local function he(weight) return math.sqrt(2 / math.max(weight.inputs, 1)) end
local function glorot(weight) return math.sqrt(2 / math.max(weight.inputs + weight.outputs, 1)) end
local function lecun(weight) return math.sqrt(1 / math.max(weight.inputs, 1)) end

---The names of `init`. Standard deviations: "he" sqrt(2 / inputs) (source: He et al., Delving deep into rectifiers,
---ICCV 2015), "glorot" sqrt(2 / (inputs + outputs)) (source: Glorot, Bengio, Understanding the difficulty of training
---deep feedforward networks, AISTATS 2010), "lecun" sqrt(1 / inputs) (source: LeCun et al., Efficient backprop, 1998).
---The distribution is normal, or uniform for names that end in "_uniform".
M.initialisers = {
  he = normal(he), he_uniform = uniform(he), glorot = normal(glorot), glorot_uniform = uniform(glorot),
  lecun = normal(lecun), lecun_uniform = uniform(lecun),
  zeros = function(weight, _, dtype) return tensor.zeros(weight.shape, { dtype = dtype }) end,
  ones = function(weight, _, dtype) return tensor.ones(weight.shape, { dtype = dtype }) end,
}

---Checks a user's `init`.
---@param init any
---@param fn string
function M.check_init(init, fn)
  if init == nil or type(init) == "number" or type(init) == "function" then return end
  if type(init) ~= "string" then check.wrong("init", fn, "a name, a number or a function", init) end
  check.one_of(init, util.sorted_keys(M.initialisers), "init", fn)
end

local function first_values(weight, generator, dtype)
  local init = weight.init
  if type(init) == "number" then return tensor.full(weight.shape, init, { dtype = dtype }) end
  if type(init) == "string" then return M.initialisers[init](weight, generator, dtype) end
  local values = init(weight.shape, generator, weight.inputs, weight.outputs)
  base.arg(values, "result of init", "nn.network")
  if base.shape_text(values) ~= base.list_text(weight.shape) then
    check.fail("bad result of 'init': expected a tensor %s, got %s", base.list_text(weight.shape),
      base.shape_text(values))
  end
  return values
end

---The number of elements of all declared weights of a layer.
---@param layer actor.nn.Layer
---@return integer
function M.count(layer)
  local count = 0
  for _, weight in pairs(layer.weights or {}) do
    local size = 1
    for _, extent in ipairs(weight.shape) do size = size * extent end
    count = count + size
  end
  return count
end

---Makes the weights of layers as views of one tensor, and their gradients as views of another. Existing weights of a
---layer retain their values; others are drawn from `options.draw(i)`, a generator for layer i (nil: this node's
---generator).
---@param layers actor.nn.Layer[]
---@param options {draw: (fun(i: integer): actor.Rng?), dtype?: string}
---@return actor.Tensor params
---@return actor.Tensor grads
function M.realise(layers, options)
  local total = 0
  for _, layer in ipairs(layers) do total = total + M.count(layer) end
  local params = tensor.zeros(total, { dtype = options.dtype })
  local grads = tensor.zeros(total, { dtype = options.dtype })
  local at = 0
  for i, layer in ipairs(layers) do
    local generator = options.draw(i)
    local old = layer.params or {}
    layer.params, layer.grads = {}, {}
    for _, name in ipairs(util.sorted_keys(layer.weights or {})) do
      local weight = layer.weights[name]
      local values = old[name] or first_values(weight, generator, options.dtype)
      local size = values.size
      local function part(of)
        if size == 0 then return tensor.zeros(weight.shape, { dtype = options.dtype }) end
        return of[{ { at + 1, at + size } }]:view(weight.shape)
      end
      layer.params[name], layer.grads[name] = part(params), part(grads)
      layer.params[name]:copy_(values)
      at = at + size
    end
  end
  return params, grads
end

---Adds the gradient of a weight's regularisation to the weight's gradient; returns the penalty to add to the loss.
---@param layer actor.nn.Layer
---@param name string
---@param l1 number
---@param l2 number
---@return number
function M.regularise(layer, name, l1, l2)
  local param, grad, penalty = layer.params[name], layer.grads[name], 0
  if l1 ~= 0 then
    penalty = l1 * param:abs():sum()
    grad:axpy_(l1, param:sign())
  end
  if l2 ~= 0 then
    penalty = penalty + l2 / 2 * param:norm() ^ 2
    grad:axpy_(l2, param)
  end
  return penalty
end

return M
