--- Activations: functions of each element, and softmax of each row. An activation is a layer of its own, or is fused
--- into a layer with weights, whose option `act` names it.
local check = require("actor.check")
local base = require("actor.tensor.base")
local nn = require("actor.ffi")("nn")
local pass = require("actor.nn.pass")
local util = require("actor.util")

local api, C = base.api, require("ffi").C
local M = {}

-- The operation, and its gradient as a function of the result (or, with `of_input`, of the argument).
local functions = {
  relu = { code = C.AH_UNARY_RELU, slope = C.AH_BINARY_RELU_GRAD },
  tanh = { code = C.AH_UNARY_TANH, slope = C.AH_BINARY_TANH_GRAD },
  sigmoid = { code = C.AH_UNARY_SIGMOID, slope = C.AH_BINARY_SIGMOID_GRAD },
  gelu = { code = C.AH_UNARY_GELU, slope = C.AH_BINARY_GELU_GRAD, of_input = true },
}

---@class actor.nn.Activation: actor.nn.Layer
local Activation = check.class("layer:", "state", "weights")

---Applies the function to each element.
---@param x actor.Tensor
---@return actor.Tensor
function Activation:forward(x)
  base.arg(x, "x", self.kind .. ":forward")
  if api.contiguous(x) == 0 then x = x:contiguous() end
  local y = pass.like(self, "y", x)
  self.x = x
  pass.done(api.unary(self.code, y, x), self.kind .. ":forward", x, nil, y)
  return y
end

---Computes the gradient of the input of the last `forward`.
---@param dy actor.Tensor the gradient of the output
---@return actor.Tensor dx
function Activation:backward(dy)
  base.arg(dy, "dy", self.kind .. ":backward")
  if not self.y then check.fail("%s:backward: there was no forward pass", self.kind) end
  if api.contiguous(dy) == 0 then dy = dy:contiguous() end
  local dx = pass.like(self, "dx", self.y)
  local at = self.of_input and self.x or self.y
  pass.done(nn.activation_grad(self.slope, dx, dy, at), self.kind .. ":backward", dy, at, dx)
  return dx
end

---@class actor.nn.Softmax: actor.nn.Layer
local Softmax = check.class("layer:", "state", "weights")

---Makes each row (the last dimension) positive with sum 1.
---@param x actor.Tensor (rows, ..., classes)
---@return actor.Tensor of the same shape
function Softmax:forward(x)
  base.arg(x, "x", "softmax:forward")
  local y = pass.like(self, "y", x)
  pass.done(api.softmax(y, x), "softmax:forward", x, nil, y)
  return y
end

---@param dy actor.Tensor
---@return actor.Tensor dx
function Softmax:backward(dy)
  base.arg(dy, "dy", "softmax:backward")
  local y = self.y
  if not y then check.fail("softmax:backward: there was no forward pass") end
  if api.contiguous(dy) == 0 then dy = dy:contiguous() end
  local dx = pass.like(self, "dx", y)
  pass.done(nn.softmax_grad(dx, dy, y), "softmax:backward", dy, y, dx)
  return dx
end

---Makes the layer of an activation.
---@param name string "relu", "tanh", "sigmoid", "gelu" or "softmax"
---@param shape? integer[] of one sample
---@return actor.nn.Layer
function M.make(name, shape)
  local layer = { kind = name, shape = shape or false, params = {}, grads = {}, x = false, y = false, dx = false }
  if name == "softmax" then return setmetatable(layer, Softmax) end
  local f = functions[name]
  layer.code, layer.slope, layer.of_input = f.code, f.slope, f.of_input or false
  return setmetatable(layer, Activation)
end

---The names for `act`.
M.names = { relu = true, tanh = true, sigmoid = true, gelu = true, softmax = true }

---Checks a user's `act`; returns the name, or nil for no activation.
---@param act any
---@param fn string
---@return string?
function M.check(act, fn)
  if act == nil or act == "none" or act == "linear" then return nil end
  if type(act) ~= "string" then check.wrong("act", fn, "the name of an activation", act) end
  check.one_of(act, util.sorted_keys(M.names), "act", fn)
  return act
end

---The codes of an activation and its gradient, for a layer that applies the activation itself. The gradient must be a
---function of the result; other activations return nil and become layers of their own.
---@param name? string
---@return integer? code
---@return integer? slope
function M.fused(name)
  local f = functions[name]
  if f and not f.of_input then return f.code, f.slope end
end

return M
