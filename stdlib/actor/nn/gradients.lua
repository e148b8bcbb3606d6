--- `nn.check_gradients`: compares gradients with finite differences.
local check = require("actor.check")
local base = require("actor.tensor.base")
local tensor = require("actor.tensor")
local util = require("actor.util")

local known = { step = "number?", seed = "number?", training = "boolean?", inputs = "boolean?" }

-- Copies the layer's state, which a forward pass changes; returns a function that restores the state.
local function saved_state(layer)
  local saved = {}
  for name, value in pairs(rawget(layer, "state") or {}) do saved[name] = value:clone() end
  return function()
    for name, value in pairs(saved) do layer.state[name]:copy_(value) end
  end
end

return function(layer, x, options)
  local fn = "nn.check_gradients"
  options = check.optional_options(options, known, fn)
  base.arg(x, "x", fn)
  local step, training = options.step or 1e-5, options.training or false
  local point, restore = x:clone(), saved_state(layer)
  local function forward()
    restore()
    return layer:forward(point, training)
  end
  local y = forward()
  local weights = tensor.normal(y.shape, { seed = options.seed or 1, dtype = y.dtype })
  local function objective() return forward():dot(weights) end
  local checked, dx = {}, layer:backward(weights, false)
  if options.inputs ~= false then checked.x = { value = point, slope = dx:clone() } end
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
  restore()
  return worst, place
end
