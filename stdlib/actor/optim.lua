--- Optimisers as descriptions: the parameter server applies one natively (`param.run{ pull = optim.sgd{...} }`), and
--- `opt:step(params, grads)` applies the same kernels here, with the same bits. A description is a plain table of
--- numbers, checked when it is made. Formulas: host/kernel/kernels.hpp; t counts a parameter's updates from 0.
---
--- On the parameter server each push is an update: under bsp with six workers Adam or momentum makes six steps a round. For
--- synchronous training, one step with the mean of the round's gradients, add `merge = param.merge.mean()`.
local ffi = require("ffi")
local check = require("actor.check")
local util = require("actor.util")
local base = require("actor.tensor.base")

local api = base.api
---@class actor.optim
local M = {}

---@class actor.Decay plain data: how the learning rate falls with the number t of updates made
---@field kind "step"|"exponential"|"inverse_time"|"cosine"
---@field rate? number
---@field every number
---@field floor? number

---@class actor.Optimiser plain data, beside its methods
---@field kind "add"|"sgd"|"adagrad"|"adam"
---@field decay? actor.Decay
local Optimiser = {}
Optimiser.__index = Optimiser
setmetatable(Optimiser, check.strict("optimiser:", "decay"))

-- As numbered in host/kernel/optimiser.hpp.
local kinds = { add = 0, sgd = 1, adagrad = 2, adam = 3 }
local decay_kinds = { step = 1, exponential = 2, inverse_time = 3, cosine = 4 }

M.decay = {}

-- A number option with a default; `below` is an open upper limit.
local function number(options, name, fn, default, low, high, below)
  local value = options[name]
  if value == nil then value = default end
  if value == nil then check.wrong(name, fn, "a number", value) end
  check.number(value, name, fn, low, high)
  if value - value ~= 0 then check.wrong(name, fn, "a finite number", value) end
  if below and value >= below then check.wrong(name, fn, ("a number below %s"):format(below), value) end
  return value
end

local function positive(options, name, fn)
  local value = number(options, name, fn, nil, 0)
  if value == 0 then check.wrong(name, fn, "a number above 0", value) end
  return value
end

local rate_and_every = { rate = "number", every = "number" }

local function with_rate(kind, highest)
  local fn = "optim.decay." .. kind
  return function(options)
    check.options(options, rate_and_every, fn)
    return { kind = kind, rate = number(options, "rate", fn, nil, 0, highest), every = positive(options, "every", fn) }
  end
end

---A learning rate that falls in steps: lr * rate ^ floor(t / every).
---@type fun(options: {rate: number, every: number}): actor.Decay
M.decay.step = with_rate("step", 1)

---A learning rate that falls exponentially: lr * rate ^ (t / every).
---@type fun(options: {rate: number, every: number}): actor.Decay
M.decay.exponential = with_rate("exponential", 1)

---A learning rate that falls as 1 / t in the end: lr / (1 + rate * t / every).
---@type fun(options: {rate: number, every: number}): actor.Decay
M.decay.inverse_time = with_rate("inverse_time")

---A learning rate that falls from lr to floor * lr along half a cosine over `every` updates, and stays there.
---@param options {every: number, floor?: number} floor 0 .. 1, default 0
---@return actor.Decay
function M.decay.cosine(options)
  local fn = "optim.decay.cosine"
  check.options(options, { every = "number", floor = "number?" }, fn)
  return { kind = "cosine", every = positive(options, "every", fn), floor = number(options, "floor", fn, 0, 0, 1) }
end

-- A decay is plain data and may have been written by hand, so it is checked: by making it again.
local function checked_decay(decay, fn)
  if decay == nil then return nil end
  if type(decay) ~= "table" or not decay_kinds[decay.kind] then
    check.wrong("decay", fn, "a schedule of optim.decay", decay)
  end
  local options = {}
  for name, value in pairs(decay) do
    if name ~= "kind" then options[name] = value end
  end
  return M.decay[decay.kind](options)
end

local function make(description)
  return setmetatable(description, Optimiser)
end

local function boolean(options, name, fn)
  check.optional(options[name], "boolean", name, fn)
  return options[name] or false
end

---Adds what is pushed: weights += scale * gradient. With scale = 1 the "gradient" is the update itself.
---@param options? {scale?: number} default 1
---@return actor.Optimiser
function M.add(options)
  options = options or {}
  check.options(options, { scale = "number?" }, "optim.add")
  return make { kind = "add", scale = number(options, "scale", "optim.add", 1) }
end

---Stochastic gradient descent, with momentum and L2 weight decay where given.
---@param options {lr: number, momentum?: number, nesterov?: boolean, weight_decay?: number, decay?: actor.Decay}
---@return actor.Optimiser
function M.sgd(options)
  local fn = "optim.sgd"
  check.options(options, { lr = "number", momentum = "number?", nesterov = "boolean?", weight_decay = "number?",
    decay = "table?" }, fn)
  local made = {
    kind = "sgd",
    lr = number(options, "lr", fn, nil, 0),
    momentum = number(options, "momentum", fn, 0, 0, nil, 1),
    nesterov = boolean(options, "nesterov", fn),
    weight_decay = number(options, "weight_decay", fn, 0, 0),
    decay = checked_decay(options.decay, fn),
  }
  if made.nesterov and made.momentum == 0 then check.wrong("nesterov", fn, "a momentum above 0 beside it", true) end
  return make(made)
end

---Adagrad: each weight's rate is divided by the root of its squared gradients' sum. Source: Duchi, Hazan, Singer,
---Adaptive subgradient methods, JMLR 2011.
---@param options {lr: number, epsilon?: number, initial?: number, weight_decay?: number, decay?: actor.Decay}
---`initial` is what the sum of squares starts from
---@return actor.Optimiser
function M.adagrad(options)
  local fn = "optim.adagrad"
  check.options(options, { lr = "number", epsilon = "number?", initial = "number?", weight_decay = "number?",
    decay = "table?" }, fn)
  return make {
    kind = "adagrad",
    lr = number(options, "lr", fn, nil, 0),
    epsilon = number(options, "epsilon", fn, 1e-10, 0),
    initial = number(options, "initial", fn, 0, 0),
    weight_decay = number(options, "weight_decay", fn, 0, 0),
    decay = checked_decay(options.decay, fn),
  }
end

---Adam. Source: Kingma, Ba, Adam: a method for stochastic optimization, ICLR 2015.
---@param options? {lr?: number, beta1?: number, beta2?: number, epsilon?: number, weight_decay?: number, decay?: actor.Decay}
---@return actor.Optimiser
function M.adam(options)
  local fn = "optim.adam"
  options = options or {}
  check.options(options, { lr = "number?", beta1 = "number?", beta2 = "number?", epsilon = "number?",
    weight_decay = "number?", decay = "table?" }, fn)
  return make {
    kind = "adam",
    lr = number(options, "lr", fn, 1e-3, 0),
    beta1 = number(options, "beta1", fn, 0.9, 0, nil, 1),
    beta2 = number(options, "beta2", fn, 0.999, 0, nil, 1),
    epsilon = number(options, "epsilon", fn, 1e-8, 0),
    weight_decay = number(options, "weight_decay", fn, 0, 0),
    decay = checked_decay(options.decay, fn),
  }
end

---Returns whether the value is an optimiser's description.
---@param value any
---@return boolean
function M.is_optimiser(value)
  return type(value) == "table" and getmetatable(value) == Optimiser
end

local fields = { "lr", "scale", "momentum", "weight_decay", "beta1", "beta2", "epsilon", "initial" }

---Converts the description to a C value, for the engines.
---@param opt actor.Optimiser
---@return ffi.cdata* ah_optimiser
function M.to_c(opt)
  if not M.is_optimiser(opt) then check.wrong("opt", "optim.to_c", "an optimiser of actor.optim", opt) end
  local c = ffi.new("ah_optimiser")
  c.kind = kinds[opt.kind]
  for i = 1, #fields do c[fields[i]] = opt[fields[i]] or 0 end
  c.nesterov = opt.nesterov and 1 or 0
  local decay = opt.decay
  if decay then
    c.decay_kind = decay_kinds[decay.kind]
    c.decay_rate, c.decay_every, c.decay_floor = decay.rate or 0, decay.every, decay.floor or 0
  end
  return c
end

-- What `step` keeps beside the description, which stays plain data: the C value and each parameter's state by name.
local memories = setmetatable({}, { __mode = "k" })

local function memory_of(opt)
  local memory = memories[opt]
  if not memory then
    local c = M.to_c(opt)
    memory = { c = c, parts = api.optimiser_parts(c), fill = api.optimiser_fill(c), of = {} }
    memories[opt] = memory
  end
  return memory
end

---Returns the learning rate of update number `t`, where the first update is number 0.
---@param t integer
---@return number
function Optimiser:learning_rate(t)
  check.integer(t, "t", "opt:learning_rate", 0, 2 ^ 53)
  if self.kind == "add" then check.fail("opt:learning_rate: optim.add has none") end
  return api.learning_rate(memory_of(self).c, t)
end

local function check_pair(name, param, grad)
  base.arg(param, ("params['%s']"):format(name), "opt:step")
  base.arg(grad, ("grads['%s']"):format(name), "opt:step")
  if not base.same_shape(param, grad) then
    check.fail("bad argument grads['%s'] to opt:step: expected shape %s, got %s", name, base.shape_text(param),
      base.shape_text(grad))
  end
  if param.type_ ~= grad.type_ then base.raise("opt:step", 2, param, grad) end
  if api.contiguous(param) == 0 then
    check.fail("bad argument params['%s'] to opt:step: expected a contiguous tensor", name)
  end
end

-- The state of one parameter. It is made at the first update, and again when the parameter's shape or type has changed.
local function state_of(memory, name, param)
  local state = memory.of[name]
  if not state or state.count ~= param.count_ or state.type ~= param.type_ then
    state = { updates = 0, count = param.count_, type = param.type_ }
    for i = 1, memory.parts do
      state[i] = base.allocate_like(param, "opt:step")
      api.fill(state[i], memory.fill)
    end
    memory.of[name] = state
  end
  return state
end

---Updates the parameters in place. What the optimiser remembers (momentum, squares) it keeps by the parameter's name.
---@param params table<any, actor.Tensor>
---@param grads table<any, actor.Tensor> of the same names and shapes; a parameter without one is left alone
function Optimiser:step(params, grads)
  check.arg(params, "table", "params", "opt:step")
  check.arg(grads, "table", "grads", "opt:step")
  local memory = memory_of(self)
  for name, grad in pairs(grads) do
    local param = params[name]
    check_pair(tostring(name), param, grad)
    local state = state_of(memory, name, param)
    if api.contiguous(grad) == 0 then grad = grad:contiguous() end
    api.optimise(memory.c, state.updates, grad, state[1], state[2], param)
    state.updates = state.updates + 1
  end
end

function Optimiser:__tostring()
  local parts = {}
  for name, value in util.pairs(self) do
    if name == "decay" then
      value = value.kind
    end
    if name ~= "kind" then parts[#parts + 1] = ("%s=%s"):format(name, tostring(value)) end
  end
  return ("optim.%s{%s}"):format(self.kind, table.concat(parts, ", "))
end

return M
