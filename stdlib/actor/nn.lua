--- Small neural networks: layers with a forward and a backward pass written out, parameters as tensors by name.
---
---     local model = nn.sequential { nn.linear(784, 128, {seed = 1}), nn.relu(), nn.linear(128, 10, {seed = 2}) }
---     local loss = model:loss(images, labels)   -- forward and backward with softmax cross-entropy
---     opt:step(model.params, model.grads)
---
--- A layer is a table with `forward(x) -> y`, `backward(dy) -> dx` (after the forward pass of the same batch), and, if
--- it has parameters, `params` and `grads` of the same names. Results belong to the layer and are overwritten by its next
--- pass: clone what has to stay. Gradients are overwritten as well, not added up.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local tensor = require("actor.tensor")
local util = require("actor.util")

local api = base.api
---@class actor.nn
local M = {}

---@class actor.nn.Layer
---@field forward fun(self: actor.nn.Layer, x: actor.Tensor): actor.Tensor
---@field backward fun(self: actor.nn.Layer, dy: actor.Tensor): actor.Tensor
---@field params table<string, actor.Tensor>
---@field grads table<string, actor.Tensor>

-- A tensor of this shape and type: `kept` when it fits, so that passes over batches of one size reuse their memory.
local function buffer(kept, rows, columns, dtype)
  if kept and kept.extent_[0] == rows and kept.extent_[1] == columns and kept.type_ == dtype then return kept end
  return base.allocate({ tonumber(rows), tonumber(columns) }, dtype, "nn")
end

local function expect(status, fn, a, b, out)
  if status ~= 0 then base.raise(fn, status, a, b, out) end
end

-- ---- Linear ----

---@class actor.nn.Linear: actor.nn.Layer
local Linear = {}
Linear.__index = Linear
setmetatable(Linear, check.strict("layer:"))

local scales = {
  he = function(inputs) return math.sqrt(2 / inputs) end,
  glorot = function(inputs, outputs) return math.sqrt(2 / (inputs + outputs)) end,
}

local linear_options = {
  seed = "number|cdata?", rng = "cdata?", init = "string?", bias = "boolean?", dtype = "string?",
}

---A fully connected layer, y = x weight + bias. Weights are drawn from a normal distribution of deviation sqrt(2 /
---inputs) ("he", the default, for relu; source: He et al., Delving deep into rectifiers, ICCV 2015) or sqrt(2 / (inputs
---+ outputs)) ("glorot"; source: Glorot, Bengio, Understanding the difficulty of training deep feedforward networks,
---AISTATS 2010), or are "zeros"; biases start at 0.
---@param inputs integer
---@param outputs integer
---@param options? {seed?: integer, rng?: actor.Rng, init?: "he"|"glorot"|"zeros", bias?: boolean, dtype?: string}
---@return actor.nn.Linear params weight (inputs x outputs) and bias (outputs)
function M.linear(inputs, outputs, options)
  local fn = "nn.linear"
  check.integer(inputs, "inputs", fn, 1)
  check.integer(outputs, "outputs", fn, 1)
  options = options or {}
  check.options(options, linear_options, fn)
  local init = options.init or "he"
  check.one_of(init, { "he", "glorot", "zeros" }, "init", fn)
  local params = {}
  if init == "zeros" then
    params.weight = tensor.zeros({ inputs, outputs }, { dtype = options.dtype })
  else
    params.weight = tensor.normal({ inputs, outputs },
      { std = scales[init](inputs, outputs), seed = options.seed, rng = options.rng, dtype = options.dtype })
  end
  if options.bias ~= false then params.bias = tensor.zeros(outputs, { dtype = options.dtype }) end
  local grads = {}
  for name, param in pairs(params) do grads[name] = tensor.zeros_like(param) end
  return setmetatable({ params = params, grads = grads }, Linear)
end

---Computes the layer's output for a batch.
---@param x actor.Tensor rows x inputs
---@return actor.Tensor rows x outputs
function Linear:forward(x)
  base.arg(x, "x", "linear:forward")
  local weight, bias = self.params.weight, self.params.bias
  if x.ndim_ ~= 2 or x.extent_[1] ~= weight.extent_[0] then
    check.fail("bad argument 'x' to linear:forward: expected shape (rows, %d), got %s", tonumber(weight.extent_[0]),
      base.shape_text(x))
  end
  self.x = x
  local y = buffer(self.y, x.extent_[0], weight.extent_[1], weight.type_)
  self.y = y
  expect(api.matmul(y, x, weight, 0, 0, 1, 0), "linear:forward", x, weight, y)
  if bias then expect(api.binary(0, y, y, bias), "linear:forward", y, bias) end
  base.settle()
  return y
end

---Computes the gradients of the batch that `forward` got last; leaves those of the parameters in `grads`.
---@param dy actor.Tensor rows x outputs: the gradient of the output
---@param first? boolean true: the layer is the first one, so the gradient of the input is not computed
---@return actor.Tensor? dx rows x inputs
function Linear:backward(dy, first)
  base.arg(dy, "dy", "linear:backward")
  local x, params, grads = self.x, self.params, self.grads
  if not x then check.fail("linear:backward: there was no forward pass") end
  expect(api.matmul(grads.weight, x, dy, 1, 0, 1, 0), "linear:backward", x, dy, grads.weight)
  if params.bias then expect(api.reduce(0, grads.bias, dy, 0, 0), "linear:backward", dy, nil, grads.bias) end
  if first then return nil end
  local dx = buffer(self.dx, x.extent_[0], x.extent_[1], x.type_)
  self.dx = dx
  expect(api.matmul(dx, dy, params.weight, 0, 1, 1, 0), "linear:backward", dy, params.weight, dx)
  base.settle()
  return dx
end

-- ---- Functions ----

---@class actor.nn.Function: actor.nn.Layer
local Function = {}
Function.__index = Function
setmetatable(Function, check.strict("layer:"))

---Applies the function to each element.
---@param x actor.Tensor
---@return actor.Tensor
function Function:forward(x)
  base.arg(x, "x", self.name .. ":forward")
  local y = x.ndim_ == 2 and buffer(self.y, x.extent_[0], x.extent_[1], x.type_)
    or base.allocate_like(x, self.name .. ":forward")
  self.y = y
  expect(api.unary(self.unary, y, x), self.name .. ":forward", x, nil, y)
  base.settle()
  return y
end

---Computes the gradient of the input that `forward` got last.
---@param dy actor.Tensor the gradient of the output
---@return actor.Tensor dx
function Function:backward(dy)
  base.arg(dy, "dy", self.name .. ":backward")
  local y = self.y
  if not y then check.fail("%s:backward: there was no forward pass", self.name) end
  local dx = y.ndim_ == 2 and buffer(self.dx, y.extent_[0], y.extent_[1], y.type_)
    or base.allocate_like(y, self.name .. ":backward")
  self.dx = dx
  expect(api.binary(self.slope, dx, dy, y), self.name .. ":backward", dy, y, dx)
  base.settle()
  return dx
end

local function a_function(name, unary, slope)
  return setmetatable({ name = name, unary = unary, slope = slope, params = {}, grads = {} }, Function)
end

---A layer that computes max(x, 0) of each element.
---@return actor.nn.Layer
function M.relu()
  return a_function("relu", 6, 13)
end

---A layer that computes the hyperbolic tangent of each element.
---@return actor.nn.Layer
function M.tanh()
  return a_function("tanh", 4, 14)
end

-- ---- Loss ----

local loss_out = ffi.new("double[1]")

---Computes the softmax cross-entropy, the mean over the rows of -log(softmax(scores)[label]), and its gradient.
---@param scores actor.Tensor rows x classes
---@param labels actor.Tensor rows, whole numbers from 1 to classes
---@param out? actor.Tensor takes the gradient; may be `scores` itself
---@return number loss
---@return actor.Tensor gradient of the scores, rows x classes
function M.cross_entropy(scores, labels, out)
  local fn = "nn.cross_entropy"
  base.arg(scores, "scores", fn)
  base.arg(labels, "labels", fn)
  if out ~= nil then base.arg(out, "out", fn) end
  local slope = out or base.new()
  local status = api.cross_entropy(loss_out, slope, scores, labels)
  if status == 1 then
    check.fail("bad argument to %s: expected scores (rows, classes) and labels (rows), got %s and %s", fn,
      base.shape_text(scores), base.shape_text(labels))
  end
  expect(status, fn, scores, labels, slope)
  base.settle()
  return loss_out[0], slope
end

-- ---- Sequential ----

---@class actor.nn.Sequential: actor.nn.Layer
local Sequential = {}
Sequential.__index = Sequential
setmetatable(Sequential, check.strict("layer:"))

---Makes a model of layers that follow each other. Parameters are named "1.weight", "1.bias", ... by the layer's place.
---@param layers actor.nn.Layer[]
---@return actor.nn.Sequential
function M.sequential(layers)
  local fn = "nn.sequential"
  check.arg(layers, "table", "layers", fn)
  if #layers == 0 then check.fail("bad argument 'layers' to %s: expected at least one layer", fn) end
  local params, grads = {}, {}
  for i, layer in ipairs(layers) do
    if type(layer) ~= "table" or type(layer.forward) ~= "function" or type(layer.backward) ~= "function" then
      check.wrong(("layers[%d]"):format(i), fn, "a layer", layer)
    end
    for name in pairs(layer.params or {}) do
      params[i .. "." .. name] = layer.params[name]
      grads[i .. "." .. name] = layer.grads[name]
    end
  end
  return setmetatable({ layers = layers, params = params, grads = grads }, Sequential)
end

---Computes the last layer's output for a batch.
---@param x actor.Tensor
---@return actor.Tensor
function Sequential:forward(x)
  local layers = self.layers
  for i = 1, #layers do x = layers[i]:forward(x) end
  return x
end

---Computes the gradients of all layers for the batch that `forward` got last; leaves those of the parameters in
---`grads`.
---@param dy actor.Tensor the gradient of the output
---@param first? boolean true: the gradient of the input is not computed
---@return actor.Tensor? dx
function Sequential:backward(dy, first)
  local layers = self.layers
  for i = #layers, 1, -1 do dy = layers[i]:backward(dy, first and i == 1) end
  return dy
end

---Does a forward and a backward pass with softmax cross-entropy; leaves the gradients in `grads`.
---@param x actor.Tensor rows x inputs
---@param labels actor.Tensor rows, from 1
---@return number loss
function Sequential:loss(x, labels)
  local scores = self:forward(x)
  local loss, slope = M.cross_entropy(scores, labels, scores)
  self:backward(slope, true)
  return loss
end

---Returns the share of rows whose largest score is at their label.
---@param x actor.Tensor rows x inputs
---@param labels actor.Tensor rows, from 1
---@return number from 0 to 1
function Sequential:accuracy(x, labels)
  base.arg(labels, "labels", "sequential:accuracy")
  local found = self:forward(x):argmax(2)
  if labels.type_ ~= found.type_ then found = found:to(labels.dtype) end
  return found:eq(labels):mean()
end

---Copies values into the parameters of those names, keeping the tensors.
---@param values table<string, actor.Tensor>
function Sequential:load(values)
  check.arg(values, "table", "values", "sequential:load")
  for name, value in util.pairs(values) do
    local param = self.params[name]
    if not param then check.fail("bad argument 'values' to sequential:load: there is no parameter '%s'", tostring(name)) end
    base.arg(value, ("values['%s']"):format(name), "sequential:load")
    if base.shape_text(value) ~= base.shape_text(param) then
      check.fail("bad argument values['%s'] to sequential:load: expected shape %s, got %s", name, base.shape_text(param),
        base.shape_text(value))
    end
    param:copy_(value)
  end
end

-- ---- Gradient checking ----

---Compares the gradients of a layer with finite differences of its output, of d(sum(y * weights)) / d(each parameter
---and input), where `weights` are fixed random numbers. Use float64 parameters and input: a correct gradient has an
---error near 1e-9.
---@param layer actor.nn.Layer
---@param x actor.Tensor
---@param options? {step?: number, seed?: integer} default 1e-5, 1
---@return number largest |difference| / max(1, |gradient|) over all elements
---@return string where it is
function M.check_gradients(layer, x, options)
  local fn = "nn.check_gradients"
  options = options or {}
  check.options(options, { step = "number?", seed = "number?" }, fn)
  base.arg(x, "x", fn)
  local step = options.step or 1e-5
  local point = x:clone()
  local y = layer:forward(point)
  local weights = tensor.normal(y.shape, { seed = options.seed or 1, dtype = y.dtype })
  local function objective()
    return layer:forward(point):dot(weights)
  end
  local checked = { x = { value = point, slope = layer:backward(weights):clone() } }
  for name, param in pairs(layer.params or {}) do
    checked[name] = { value = param, slope = layer.grads[name]:clone() }
  end
  local worst, place = 0, "nowhere"
  for name, pair in util.pairs(checked) do
    local values, slopes = pair.value:flatten(), pair.slope:flatten()
    for i = 1, #values do
      local before = values:get(i)
      values:set(i, before + step)
      local above = objective()
      values:set(i, before - step)
      local below = objective()
      values:set(i, before)
      local slope = slopes:get(i)
      local error_ = math.abs((above - below) / (2 * step) - slope) / math.max(1, math.abs(slope))
      if not (error_ <= worst) then worst, place = error_, ("%s element %d"):format(name, i) end
    end
  end
  return worst, place
end

return M
