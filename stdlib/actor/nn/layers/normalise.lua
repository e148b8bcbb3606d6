--- Normalisation of channels (the last dimension), and dropout: layers whose training pass differs from later passes.
--- `state` retains their tensors from batch to batch, beside the weights.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local nn = require("actor.ffi")("nn")
local pass = require("actor.nn.pass")

local api = base.api
local M = {}

---@class actor.nn.Normalisation: actor.nn.Layer
local Normalisation = check.class("layer:")

local options_of = { decay = "number?", epsilon = "number?", affine = "boolean?", name = "string?" }

local function make(kind, own_batch, default_decay, default_epsilon)
  local fn = "nn." .. kind
  return function(shape, options)
    options = check.optional_options(options, options_of, fn)
    local channels = shape[#shape]
    if not channels then check.fail("bad input of %s: samples without dimensions have no channels", fn) end
    local decay, epsilon = options.decay or default_decay, options.epsilon or default_epsilon
    check.number(decay, "decay", fn, 0, 1)
    check.number(epsilon, "epsilon", fn, 0)
    local layer = {
      kind = kind, shape = shape, own_batch = own_batch, decay = decay, params = {}, grads = {},
      by = ffi.new("ah_normalisation", { epsilon = epsilon }),
      x = false, y = false, dx = false, mean = false, variance = false, of_batch = false,
      weights = {},
      state = { mean = { shape = { channels }, init = "zeros" }, variance = { shape = { channels }, init = "ones" } },
    }
    if options.affine ~= false then
      layer.weights.gamma = { shape = { channels }, init = "ones" }
      layer.weights.beta = { shape = { channels }, init = "zeros" }
    end
    return setmetatable(layer, Normalisation)
  end
end

---The normalisation of the Actor system's experiment. Running statistics normalise in training too, where they count as
---constants: mean = decay * mean + (1 - decay) * mean of the batch, and the same for the variance.
---```lua
---print(unpack(actor.nn.input({ 28, 28, 1 }):normalisation({ decay = 0.9 }).shape))  --> 28 28 1
---```
M.normalisation = make("normalisation", false, 0.99, 1e-8)

---Batch normalisation: in training a batch is normalised by its own mean and variance, later by the running mean and
---variance. Source: Ioffe, Szegedy, Batch normalization, ICML 2015.
---```lua
---print(unpack(actor.nn.input({ 16 }):linear(8):batch_norm({}).shape))  --> 8
---```
M.batch_norm = make("batch_norm", true, 0.9, 1e-5)

-- Points the C value to its tensors. The layer holds references to these tensors.
local function aim(self, mean, variance)
  local by, params = self.by, self.params
  by.mean, by.variance, by.gamma, by.beta = mean, variance, params.gamma, params.beta
  return by
end

---@param x actor.Tensor (rows, ..., channels)
---@param training? boolean
---@return actor.Tensor of the same shape
function Normalisation:forward(x, training)
  local fn = self.kind .. ":forward"
  x = pass.expect(x, self.shape, "x", fn)
  local state = self.state
  local mean, variance = state.mean, state.variance
  if training and x.count_ > 0 then
    self.mean, self.variance = pass.like(self, "mean", mean), pass.like(self, "variance", variance)
    pass.done(nn.channel_moments(self.mean, self.variance, x), fn, x, mean)
    mean:mul_(self.decay):axpy_(1 - self.decay, self.mean)
    variance:mul_(self.decay):axpy_(1 - self.decay, self.variance)
  end
  self.of_batch = training and self.own_batch and x.count_ > 0 or false
  if self.of_batch then mean, variance = self.mean, self.variance end
  local y = pass.like(self, "y", x)
  self.x = x
  pass.done(nn.normalise(y, x, aim(self, mean, variance)), fn, x, mean, y)
  return y
end

---@param dy actor.Tensor
---@param first? boolean
---@return actor.Tensor? dx
function Normalisation:backward(dy, first)
  local fn = self.kind .. ":backward"
  dy = pass.expect(dy, self.shape, "dy", fn)
  if not self.x then check.fail("%s: there was no forward pass", fn) end
  local state, grads = self.state, self.grads
  local mean, variance = state.mean, state.variance
  if self.of_batch then mean, variance = self.mean, self.variance end
  local dx = not first and pass.like(self, "dx", dy) or nil
  pass.done(nn.normalise_grad(dx, grads.gamma, grads.beta, self.x, dy, aim(self, mean, variance),
    self.of_batch and 1 or 0), fn, self.x, dy)
  return dx
end

-- ---- Dropout ----

---@class actor.nn.Dropout: actor.nn.Layer
local Dropout = check.class("layer:", "weights")

local dropout_options = { seed = "number?", name = "string?" }

---Dropout: in training a share `rate` of the elements becomes 0 and the others are divided by 1 - rate. The dropped
---elements depend on the network's seed and on the number of batches so far, `state.batches`. Source: Srivastava et
---al., Dropout, JMLR 2014.
---```lua
---print(unpack(actor.nn.input({ 16 }):dropout(0.1).shape))  --> 16
---```
---@param shape integer[]
---@param rate number 0 <= rate < 1
---@param options? {seed?: integer}
---@return actor.nn.Dropout
function M.dropout(shape, rate, options)
  local fn = "nn.dropout"
  check.number(rate, "rate", fn, 0)
  if rate >= 1 then check.wrong("rate", fn, "a number below 1", rate) end
  options = check.optional_options(options, dropout_options, fn)
  return setmetatable({ kind = "dropout", shape = shape, rate = rate, seed = options.seed or false, params = {},
    grads = {}, y = false, dx = false, dropped = false, state = { batches = { shape = { 1 }, init = "zeros", dtype = "float64" } } }, Dropout)
end

---@param x actor.Tensor
---@param training? boolean
---@return actor.Tensor of the same shape
function Dropout:forward(x, training)
  base.arg(x, "x", "dropout:forward")
  self.dropped = training and self.rate > 0 or false
  if not self.dropped then return x end
  if api.contiguous(x) == 0 then x = x:contiguous() end
  local batches = self.state.batches
  batches:set(1, batches:get(1) + 1)
  local y = pass.like(self, "y", x)
  pass.done(nn.dropout(y, x, self.rate, self.seed or 0, batches:get(1)), "dropout:forward", x, nil, y)
  return y
end

---@param dy actor.Tensor
---@return actor.Tensor dx
function Dropout:backward(dy)
  base.arg(dy, "dy", "dropout:backward")
  if not self.dropped then return dy end
  if api.contiguous(dy) == 0 then dy = dy:contiguous() end
  local dx = pass.like(self, "dx", dy)
  pass.done(nn.dropout(dx, dy, self.rate, self.seed or 0, self.state.batches:get(1)), "dropout:backward", dy, nil, dx)
  return dx
end

return M
