--- Fully connected layers: y = act(x weight + bias).
local check = require("actor.check")
local base = require("actor.tensor.base")
local nn = require("actor.ffi")("nn")
local activations = require("actor.nn.layers.activations")
local pass = require("actor.nn.pass")
local weights = require("actor.nn.weights")

local api, C = base.api, require("ffi").C
local M = {}

---@class actor.nn.Linear: actor.nn.Layer
local Linear = check.class("layer:", "state")

M.options = {
  act = "string?", init = "string|number|function?", bias = "boolean?", l1 = "number?", l2 = "number?",
}

---Makes the layer, without its weights.
---@param inputs integer
---@param outputs integer
---@param options {act?: string, init?: any, bias?: boolean, l1?: number, l2?: number}
---@param fn string
---@return actor.nn.Linear
function M.make(inputs, outputs, options, fn)
  weights.check_init(options.init, fn)
  local act = activations.check(options.act, fn)
  local code, slope = activations.fused(act)
  local layer = {
    kind = "linear", shape = { outputs }, inputs = inputs, params = {}, grads = {},
    act = not code and act, code = code or false, slope = slope or false,
    x = false, before = false, seen = false, rows = false, y = false, dx = false, dx_like = false, before_act = false,
    weights = { weight = { shape = { inputs, outputs }, init = options.init or "he", inputs = inputs, outputs = outputs,
      l1 = options.l1, l2 = options.l2 } },
  }
  if options.bias ~= false then layer.weights.bias = { shape = { outputs }, init = "zeros" } end
  return setmetatable(layer, Linear)
end

-- x as rows; the view is reused while x is the same tensor.
local function rows_of(self, x)
  if x.ndim_ == 2 then return x end
  if not rawequal(self.seen, x) then
    self.seen, self.rows = x, x:reshape(tonumber(x.extent_[0]), self.inputs)
  end
  return self.rows
end

---Computes the layer's output for a batch.
---@param x actor.Tensor (rows, inputs), or (rows, ...) with as many elements
---@return actor.Tensor (rows, outputs)
function Linear:forward(x)
  base.arg(x, "x", "linear:forward")
  local weight, bias = self.params.weight, self.params.bias
  local fits = x.ndim_ >= 2 and (x.extent_[0] == 0 or x.count_ == x.extent_[0] * self.inputs)
  if fits and x.ndim_ == 2 then fits = x.extent_[1] == self.inputs end
  if not fits then
    check.fail("bad argument 'x' to linear:forward: expected shape (rows, %d), got %s", self.inputs, base.shape_text(x))
  end
  local rows = rows_of(self, x)
  self.x, self.before = rows, x
  local y = pass.result(self, "y", rows.extent_[0], self.shape, weight.type_)
  pass.done(api.matmul(y, rows, weight, 0, 0, 1, 0), "linear:forward", rows, weight, y)
  if bias then pass.done(api.binary(C.AH_BINARY_ADD, y, y, bias), "linear:forward", y, bias) end
  if self.code then api.unary(self.code, y, y) end
  return y
end

---Computes the gradients for the batch of the last `forward`; writes the gradients of the parameters to `grads`.
---@param dy actor.Tensor (rows, outputs): the gradient of the output
---@param first? boolean true: the gradient of the input is not needed
---@return actor.Tensor? dx of the input's shape
function Linear:backward(dy, first)
  base.arg(dy, "dy", "linear:backward")
  local x, params, grads = self.x, self.params, self.grads
  if not x then check.fail("linear:backward: there was no forward pass") end
  dy = pass.expect(dy, self.shape, "dy", "linear:backward")
  if self.slope then
    self.before_act = pass.like(self, "before_act", self.y)
    pass.done(nn.activation_grad(self.slope, self.before_act, dy, self.y), "linear:backward", dy, self.y)
    dy = self.before_act
  end
  pass.done(api.matmul(grads.weight, x, dy, 1, 0, 1, 0), "linear:backward", x, dy, grads.weight)
  if params.bias then pass.done(api.reduce(C.AH_REDUCTION_SUM, grads.bias, dy, 0, 0), "linear:backward", dy, nil, grads.bias) end
  if first then return nil end
  local previous, dx = self.dx, pass.result(self, "dx", x.extent_[0], { self.inputs }, x.type_)
  pass.done(api.matmul(dx, dy, params.weight, 0, 1, 1, 0), "linear:backward", dy, params.weight, dx)
  if not rawequal(dx, previous) or not self.dx_like or not base.same_shape(self.dx_like, self.before) then
    self.dx_like = self.before.ndim_ == 2 and dx or dx:view(self.before.shape)
  end
  return self.dx_like
end

return M
