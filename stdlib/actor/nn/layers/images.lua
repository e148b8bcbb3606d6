--- Layers for images: convolution and pooling. A sample has the shape (height, width, channels).
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local nn = require("actor.ffi")("nn")
local activations = require("actor.nn.layers.activations")
local pass = require("actor.nn.pass")
local weights = require("actor.nn.weights")

local api = base.api
local max, floor = math.max, math.floor
local M = {}

-- Along one axis: the number of windows, and how far the first window extends before the image.
local function windows_along(size, kernel, stride, padding)
  if padding == "same" then
    local count = math.ceil(size / stride)
    return count, floor(max((count - 1) * stride + kernel - size, 0) / 2)
  end
  return max(floor((size - kernel) / stride) + 1, 0), 0
end

local most = 2 ^ 31 - 1   -- pixels along one side of a window, or of a stride
local most_places = 65536 -- pixels of a window, as in host/kernel/conv.hpp

local function pair(value, name, fn)
  if type(value) == "table" then
    check.integer(value[1], name .. "[1]", fn, 1, most)
    check.integer(value[2], name .. "[2]", fn, 1, most)
    return value[1], value[2]
  end
  check.integer(value, name, fn, 1, most)
  return value, value
end

-- The windows of a layer and the shape of its result with `filters` channels.
local function place(shape, options, filters, fn)
  if #shape ~= 3 then
    check.fail("bad input of %s: expected samples of shape (height, width, channels), got %s", fn, base.list_text(shape))
  end
  local padding = options.padding or "same"
  check.one_of(padding, { "same", "valid" }, "padding", fn)
  check.integer(options[1], "[1] (height of the window)", fn, 1, most)
  check.integer(options[2], "[2] (width of the window)", fn, 1, most)
  if options[1] * options[2] > most_places then
    check.fail("bad argument to %s: a window has at most %d pixels, got %.0f x %.0f", fn, most_places, options[1], options[2])
  end
  local stride_h, stride_w = pair(options.stride, "stride", fn)
  local rows, top = windows_along(shape[1], options[1], stride_h, padding)
  local columns, left = windows_along(shape[2], options[2], stride_w, padding)
  if rows * columns == 0 and shape[1] * shape[2] > 0 then
    check.fail("bad argument to %s: a window of %d x %d does not fit images of shape %s; use padding = \"same\"", fn,
      options[1], options[2], base.list_text(shape))
  end
  -- A stride beyond the image reaches no second window, but the kernels' work grows with the stride.
  stride_h, stride_w = math.min(stride_h, max(shape[1], 1)), math.min(stride_w, max(shape[2], 1))
  local windows = ffi.new("ah_windows", options[1], options[2], stride_h, stride_w, top, left, options.groups or 1)
  return windows, { rows, columns, filters }
end

-- ---- Convolution ----

---@class actor.nn.Conv2d: actor.nn.Layer
local Conv2d = check.class("layer:", "state")

local conv_options = {
  [1] = "number", [2] = "number", [3] = "number", [4] = "number",
  stride = "number|table?", padding = "string?", groups = "number?", act = "string?", init = "string|number|function?",
  bias = "boolean?", l1 = "number?", l2 = "number?", name = "string?",
}

---```lua
---local node = actor.nn.input({ 28, 28, 1 }):conv2d { 5, 5, 1, 32, act = "relu" }
---print(unpack(node.shape))  --> 28 28 32
---```
---@param shape integer[]
---@param options table
---@return actor.nn.Conv2d
function M.conv2d(shape, options)
  local fn = "nn.conv2d"
  check.options(options, conv_options, fn)
  local channels, filters, groups = options[3], options[4], options.groups or 1
  check.integer(channels, "[3] (channels of the input)", fn, 1)
  check.integer(filters, "[4] (channels of the result)", fn, 1)
  check.integer(groups, "groups", fn, 1)
  if shape[3] and shape[3] ~= channels then
    check.fail("bad argument to %s: {%d, %d, %d, %d} takes images of %d channels, but its input has the shape %s", fn,
      options[1], options[2], channels, filters, channels, base.list_text(shape))
  end
  if channels % groups ~= 0 or filters % groups ~= 0 then
    check.fail("bad argument 'groups' to %s: %d groups do not divide %d and %d channels", fn, groups, channels, filters)
  end
  weights.check_init(options.init, fn)
  local act = activations.check(options.act, fn)
  local code, slope = activations.fused(act)
  local given = { options[1], options[2], stride = options.stride or 1, padding = options.padding, groups = groups }
  local windows, result = place(shape, given, filters, fn)
  local area = options[1] * options[2]
  local layer = {
    kind = "conv2d", shape = result, input = shape, windows = windows, params = {}, grads = {},
    act = not code and act, code = code or -1, slope = slope or false,
    x = false, y = false, dx = false, before_act = false,
    weights = { weight = {
      shape = { options[1], options[2], channels / groups, filters }, init = options.init or "he",
      inputs = area * channels / groups, outputs = area * filters / groups, l1 = options.l1, l2 = options.l2,
    } },
  }
  if options.bias ~= false then layer.weights.bias = { shape = { filters }, init = "zeros" } end
  return setmetatable(layer, Conv2d)
end

---@param x actor.Tensor (rows, height, width, channels)
---@return actor.Tensor (rows, out height, out width, filters)
function Conv2d:forward(x)
  x = pass.expect(x, self.input, "x", "conv2d:forward")
  self.x = x
  local params = self.params
  local y = pass.result(self, "y", x.extent_[0], self.shape, x.type_)
  pass.done(nn.conv(y, x, params.weight, params.bias, self.windows, self.code), "conv2d:forward", x, params.weight, y)
  return y
end

---@param dy actor.Tensor
---@param first? boolean
---@return actor.Tensor? dx
function Conv2d:backward(dy, first)
  dy = pass.expect(dy, self.shape, "dy", "conv2d:backward")
  local x, params, grads = self.x, self.params, self.grads
  if not x then check.fail("conv2d:backward: there was no forward pass") end
  if self.slope then
    self.before_act = pass.like(self, "before_act", self.y)
    pass.done(nn.activation_grad(self.slope, self.before_act, dy, self.y), "conv2d:backward", dy, self.y)
    dy = self.before_act
  end
  pass.done(nn.conv_to_weights(grads.weight, grads.bias, x, dy, self.windows), "conv2d:backward", x, dy, grads.weight)
  if first then return nil end
  local dx = pass.result(self, "dx", x.extent_[0], self.input, x.type_)
  pass.done(nn.conv_to_input(dx, dy, params.weight, self.windows), "conv2d:backward", dy, params.weight, dx)
  return dx
end

-- ---- Pooling ----

---@class actor.nn.Pool2d: actor.nn.Layer
local Pool2d = check.class("layer:", "state", "weights")

local pool_options = {
  [1] = "number", [2] = "number", stride = "number|table?", padding = "string?", name = "string?",
}
local function pool(kind)
  local fn = "nn." .. kind
  return function(shape, options)
    check.options(options, pool_options, fn)
    local given = { options[1], options[2], stride = options.stride or { options[1], options[2] },
      padding = options.padding }
    local windows, result = place(shape, given, shape[3], fn)
    return setmetatable({ kind = kind, shape = result, input = shape, windows = windows, params = {}, grads = {},
      places = false, room = 0, rows = false, y = false, dx = false }, Pool2d)
  end
end

M.max_pool2d = pool("max_pool2d")
M.avg_pool2d = pool("avg_pool2d")

---@param x actor.Tensor (rows, height, width, channels)
---@return actor.Tensor (rows, out height, out width, channels)
function Pool2d:forward(x)
  local fn = self.kind .. ":forward"
  x = pass.expect(x, self.input, "x", fn)
  local y = pass.result(self, "y", x.extent_[0], self.shape, x.type_)
  if self.kind == "avg_pool2d" then
    pass.done(nn.average_pool(y, x, self.windows), fn, x, y, y)
    return y
  end
  local count = tonumber(y.count_)
  if not self.places or self.room < count then
    self.places, self.room = ffi.new("uint16_t[?]", max(count, 1)), count
  end
  pass.done(nn.max_pool(y, self.places, x, self.windows), fn, x, y, y)
  return y
end

---@param dy actor.Tensor
---@return actor.Tensor dx
function Pool2d:backward(dy)
  local fn = self.kind .. ":backward"
  dy = pass.expect(dy, self.shape, "dy", fn)
  if not self.y then check.fail("%s: there was no forward pass", fn) end
  local dx = pass.result(self, "dx", dy.extent_[0], self.input, dy.type_)
  if self.kind == "avg_pool2d" then
    pass.done(nn.average_pool_to_input(dx, dy, self.windows), fn, dx, dy, dx)
  else
    pass.done(nn.max_pool_to_input(dx, dy, self.places, self.windows), fn, dx, dy, dx)
  end
  return dx
end

return M
