--- Neural networks: layers with explicit forward and backward passes, in chains and graphs.
---
---     local net = nn.input { 28, 28, 1 }:conv2d { 5, 5, 1, 32, act = "relu" }:max_pool2d { 2, 2 }
---       :fully_connected(1024, "relu"):linear(10, "softmax"):network { seed = 1 }
---     net:fit { set = data.mnist().train, epochs = 5, optimiser = optim.adam() }
---     local loss = net:loss(images, labels)              -- one step by hand: forward and backward,
---     opt:step({ net.flat_params }, { net.flat_grads })  -- then an update of all parameters as one tensor
---
--- A layer is a table with `forward(x, training) -> y` and `backward(dy, first) -> dx`, called after the forward pass
--- of the same batch. A layer with parameters also has `params` and `grads` of the same names. Results belong to the
--- layer, and its next pass overwrites them: clone results that you retain. Gradients are overwritten too, not
--- accumulated. The first dimension of every tensor is the samples of a batch; images are (rows, height, width,
--- channels).
local check = require("actor.check")
local rng = require("actor.rng")
local activations = require("actor.nn.layers.activations")
local chain = require("actor.nn.chain")
local dense = require("actor.nn.layers.dense")
local images = require("actor.nn.layers.images")
local losses = require("actor.nn.losses")
local network = require("actor.nn.network")
local normalise = require("actor.nn.layers.normalise")
local shapes = require("actor.nn.layers.shapes")
local util = require("actor.util")
local weights = require("actor.nn.weights")

---@class actor.nn
local M = {
  input = chain.input, add = chain.add, concat = chain.concat, define = chain.define,
  cross_entropy = losses.cross_entropy, mse = losses.mse, hinge = losses.hinge,
}

---@class actor.nn.Layer
---@field kind string
---@field shape integer[] of one sample's result
---@field forward fun(self: actor.nn.Layer, x: actor.Tensor, training?: boolean): actor.Tensor
---@field backward fun(self: actor.nn.Layer, dy: actor.Tensor, first?: boolean): actor.Tensor?
---@field params table<string, actor.Tensor>
---@field grads table<string, actor.Tensor>
---@field weights? table<string, actor.nn.Weight> declarations of `params`
---@field state? table<string, actor.Tensor> tensors retained from batch to batch, not trained

-- ---- Layers of chains ----

-- The options of a fully connected layer in a chain: (outputs, "relu") or (outputs, "relu", {init = "glorot"}).
local function dense_options(act, options, fn)
  if type(act) == "table" then act, options = nil, act end
  options = check.optional_options(options, util.merged(dense.options, { name = "string?" }), fn)
  return util.merged({ act = act }, options)
end

chain.define("linear", function(shape, outputs, act, options)
  local fn = "nn.linear"
  check.integer(outputs, "outputs", fn, 1)
  if #shape ~= 1 then
    check.fail("bad input of %s: expected samples of one dimension, got shape %s; fully_connected flattens", fn,
      require("actor.tensor.base").list_text(shape))
  end
  return dense.make(shape[1], outputs, dense_options(act, options, fn), fn)
end)

chain.define("fully_connected", function(shape, outputs, act, options)
  local fn, inputs = "nn.fully_connected", 1
  check.integer(outputs, "outputs", fn, 1)
  for _, extent in ipairs(shape) do inputs = inputs * extent end
  local layer = dense.make(inputs, outputs, dense_options(act, options, fn), fn)
  layer.kind = "fully_connected"
  return layer
end)

for name, make in pairs(util.merged(images, normalise, shapes)) do chain.define(name, make) end

-- ---- Single layers ----

local linear_options = util.merged(dense.options, { seed = "number|cdata?", rng = "cdata?", dtype = "string?" })

---A fully connected layer with its own weights, y = x weight + bias. `init` is the initial value of the weights: "he"
---(the default, for relu), "glorot", "lecun", each also with "_uniform", "zeros", "ones", a number, or a function. For
---their deviations see nn/weights.lua. Biases start at 0.
---```lua
---local layer = actor.nn.linear(3, 2, { seed = 1 })
---print(unpack(layer:forward(actor.tensor.ones { 5, 3 }).shape))  --> 5 2
---```
---@param inputs integer
---@param outputs integer
---@param options? {seed?: integer, rng?: actor.Rng, init?: string, bias?: boolean, act?: string, dtype?: string}
---@return actor.nn.Linear params weight (inputs, outputs) and bias (outputs)
function M.linear(inputs, outputs, options)
  local fn = "nn.linear"
  check.integer(inputs, "inputs", fn, 1)
  check.integer(outputs, "outputs", fn, 1)
  options = check.optional_options(options, linear_options, fn)
  local layer = dense.make(inputs, outputs, options, fn)
  if layer.act then check.fail("bad argument 'act' to %s: '%s' is a layer of its own, nn.%s()", fn, layer.act, layer.act) end
  local generator = options.rng or options.seed and rng(options.seed) or nil
  weights.realise({ layer }, { draw = function() return generator end, dtype = options.dtype })
  return layer
end

---A layer that computes max(x, 0) of each element.
---```lua
---local net = actor.nn.sequential { actor.nn.linear(3, 8, { seed = 1 }), actor.nn.relu(), actor.nn.linear(8, 2) }
---print(unpack(net:predict(actor.tensor.ones { 5, 3 }).shape))  --> 5 2
---```
---@return actor.nn.Layer
function M.relu() return activations.make("relu") end

---A layer that computes the hyperbolic tangent of each element.
---```lua
---print(actor.nn.tanh():forward(actor.tensor.zeros { 1, 2 }):sum())  --> 0
---```
---@return actor.nn.Layer
function M.tanh() return activations.make("tanh") end

---A layer that computes 1 / (1 + e^-x) of each element.
---```lua
---print(actor.nn.sigmoid():forward(actor.tensor.zeros { 1, 2 }):get(1, 1))  --> 0.5
---```
---@return actor.nn.Layer
function M.sigmoid() return activations.make("sigmoid") end

---A layer that computes x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of each element. Source: Hendrycks,
---Gimpel, Gaussian error linear units, 2016.
---```lua
---print(actor.nn.gelu():forward(actor.tensor.zeros { 1, 2 }):sum())  --> 0
---```
---@return actor.nn.Layer
function M.gelu() return activations.make("gelu") end

---A layer that makes each row positive with sum 1: e^x divided by the sum of e^x over the row.
---```lua
---print(actor.nn.softmax():forward(actor.tensor.zeros { 1, 4 }):get(1, 1))  --> 0.25
---```
---@return actor.nn.Layer
function M.softmax() return activations.make("softmax") end

---Makes a model of consecutive layers. Parameters are named "1.weight", "1.bias", ... by the layer's place. The
---parameters become views of the model's `flat_params`, unless a layer has undeclared parameters.
---```lua
---local nn = actor.nn
---local net = nn.sequential { nn.linear(2, 8, { seed = 1 }), nn.relu(), nn.linear(8, 3, { seed = 2 }) }
---print(net.flat_params.size)  --> 51
---```
---@param layers actor.nn.Layer[]
---@return actor.nn.Network
function M.sequential(layers)
  local fn = "nn.sequential"
  check.arg(layers, "table", "layers", fn)
  if #layers == 0 then check.fail("bad argument 'layers' to %s: expected at least one layer", fn) end
  local steps, dtype, seen = {}, nil, {}
  for i, layer in ipairs(layers) do
    if type(layer) ~= "table" or type(layer.forward) ~= "function" or type(layer.backward) ~= "function" then
      check.wrong(("layers[%d]"):format(i), fn, "a layer", layer)
    end
    layer.params, layer.grads = rawget(layer, "params") or {}, rawget(layer, "grads") or {}
    for _, param in pairs(layer.params) do dtype = dtype or param.dtype end
    if rawget(layer, "owner") then
      check.fail("bad argument 'layers[%d]' to %s: the layer belongs to a network already", i, fn)
    elseif seen[layer] then
      check.fail("bad argument 'layers[%d]' to %s: it is layers[%d] too, and a layer has one place", i, fn, seen[layer])
    end
    seen[layer] = i
    steps[i] = { layer = layer, name = tostring(i), from = { i - 1 } }
  end
  local made = network.new(steps, { dtype = dtype })
  for _, layer in ipairs(layers) do layer.owner = made end
  return made
end

---Compares the gradients of a layer or network with finite differences. The objective is sum(y * weights) with fixed
---random `weights`; its derivatives by each parameter and input element are compared. Use float64 parameters and input:
---a correct gradient has an error near 1e-9. Each pass begins with the same state, so dropout drops the same elements.
---```lua
---local x = actor.tensor.normal({ 4, 3 }, { seed = 1, dtype = "float64" })
---print(actor.nn.check_gradients(actor.nn.linear(3, 2, { seed = 1, dtype = "float64" }), x) < 1e-6)  --> true
---```
---@param layer actor.nn.Layer
---@param x actor.Tensor
---@param options? {step?: number, seed?: integer, training?: boolean, inputs?: boolean} default 1e-5, 1, false, true;
---inputs = false for an x without a gradient (positions)
---@return number largest |difference| / max(1, |gradient|) over all elements
---@return string the place of that element
function M.check_gradients(layer, x, options)
  return require("actor.nn.gradients")(layer, x, options)
end

return M
