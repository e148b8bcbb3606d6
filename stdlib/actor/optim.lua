--- Optimisers as descriptions. The parameter server applies a description natively
--- (`param.run{ pull = optim.sgd{...} }`). `opt:step(params, grads)` applies the same kernels in the script, with the
--- same bits. A description is a plain table of numbers, checked when it is made. The formulas are in
--- host/kernel/kernels.hpp. Their t counts updates from 0: in `opt:step` the updates of a parameter, on the parameter
--- server the steps of the pushing worker.
---
--- Without `decay` the learning rate is constant. `clip_value` limits each element of a gradient to -clip_value ..
--- clip_value. Then `clip_norm` scales all gradients to that norm if their joint norm is greater; an infinite or NaN
--- norm changes nothing. The joint norm covers the gradients of one `opt:step`, or of one push to the parameter server.
--- A worker clips before it sends, so shards and filters do not affect clipping.
---
--- On the parameter server each push is an update: under bsp with six workers Adam or momentum makes six steps a round.
--- For synchronous training, one step a round with the mean of the gradients, add `merge = "mean"`.
local ffi = require("ffi")
local check = require("actor.check")
local enum = require("actor.enum")
local util = require("actor.util")
local base = require("actor.tensor.base")

local api = base.api
---@class actor.optim
local M = {}

---@class actor.Decay plain data: the learning rate as a function of the number t of previous updates
---@field kind "step"|"exponential"|"inverse_time"|"cosine"|"warm_up"
---@field rate? number
---@field every? number
---@field floor? number
---@field steps? integer
---@field start? number
---@field next? actor.Decay

---@class actor.Optimiser plain data, beside its methods
---@field kind "add"|"sgd"|"adagrad"|"adam"|"rmsprop"|"adamw"
---@field decay? actor.Decay
---@field clip_norm? number
---@field clip_value? number
local Optimiser = check.class("optimiser:", "decay", "clip_norm", "clip_value")

local kinds = enum("AH_OPTIMISER_KIND", "add sgd adagrad adam rmsprop adamw")
local decay_kinds = enum("AH_DECAY_KIND", "step exponential inverse_time cosine")

M.decay = {}

-- A number option with a default; `below` is an exclusive upper limit.
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
---```lua
---local decay = actor.optim.decay.step { rate = 0.5, every = 100 }
---print(actor.optim.sgd({ lr = 0.1, decay = decay }):learning_rate(250))  --> 0.025
---```
---@type fun(options: {rate: number, every: number}): actor.Decay
M.decay.step = with_rate("step", 1)

---A learning rate that falls exponentially: lr * rate ^ (t / every). For Owl's `Exp_decay (a, k)` use lr = a and
---{rate = math.exp(-k), every = 1}.
---```lua
---local decay = actor.optim.decay.exponential { rate = 0.5, every = 100 }
---print(actor.optim.sgd({ lr = 0.1, decay = decay }):learning_rate(100))  --> 0.05
---```
---@type fun(options: {rate: number, every: number}): actor.Decay
M.decay.exponential = with_rate("exponential", 1)

---A learning rate that falls as 1 / t asymptotically: lr / (1 + rate * t / every). Owl's `Learning_Rate.Decay (a, k)`,
---a / (1 + k * t), is lr = a and {rate = k, every = 1}. The "decay factor of 1e4" in the description of Owl's MNIST
---experiment with barriers is {rate = 1, every = 1e4}: half the rate after ten thousand updates. k = 1e4 would leave a
---ten-thousandth of the rate after the first update. Source: owl_neural_parallel.ml and owl_optimise.ml of Owl, Wang et
---al.
---```lua
---local decay = actor.optim.decay.inverse_time { rate = 1, every = 100 }
---print(actor.optim.sgd({ lr = 0.1, decay = decay }):learning_rate(100))  --> 0.05
---```
---@type fun(options: {rate: number, every: number}): actor.Decay
M.decay.inverse_time = with_rate("inverse_time")

---A learning rate that falls from lr to floor * lr along half a cosine over `every` updates, then remains constant.
---```lua
---local decay = actor.optim.decay.cosine { every = 100, floor = 0.1 }
---print(actor.optim.sgd({ lr = 1, decay = decay }):learning_rate(100))  --> 0.1
---```
---@param options {every: number, floor?: number} floor 0 .. 1, default 0
---@return actor.Decay
function M.decay.cosine(options)
  local fn = "optim.decay.cosine"
  check.options(options, { every = "number", floor = "number?" }, fn)
  return { kind = "cosine", every = positive(options, "every", fn), floor = number(options, "floor", fn, 0, 0, 1) }
end

-- A decay is plain data, possibly written by hand. Making it again checks it.
local function checked_decay(decay, fn)
  if decay == nil then return nil end
  local make = type(decay) == "table" and type(decay.kind) == "string" and M.decay[decay.kind]
  if not make then check.wrong("decay", fn, "a schedule of optim.decay", decay) end
  local options = util.merged(decay)
  options.kind = nil
  return make(options)
end

---A learning rate that rises linearly from start * lr to lr over the first `steps` updates. Then the schedule `next`
---applies, whose t counts from the end of the warm-up; without `next` the rate is constant.
---```lua
---local decay = actor.optim.decay.warm_up { steps = 10, next = actor.optim.decay.cosine { every = 90 } }
---print(actor.optim.sgd({ lr = 1, decay = decay }):learning_rate(5))  --> 0.5
---```
---@param options {steps: integer, start?: number, next?: actor.Decay} start 0 .. 1, default 0: the first update has a
---  rate of 0. `next` is any other schedule
---@return actor.Decay
function M.decay.warm_up(options)
  local fn = "optim.decay.warm_up"
  check.options(options, { steps = "number", start = "number?", next = "table?" }, fn)
  check.integer(options.steps, "steps", fn, 1)
  if options.next and options.next.kind == "warm_up" then check.fail("%s: 'next' is a warm-up itself", fn) end
  return {
    kind = "warm_up", steps = options.steps, start = number(options, "start", fn, 0, 0, 1),
    next = checked_decay(options.next, fn),
  }
end

local shared = { weight_decay = "number?", decay = "table?", clip_norm = "number?", clip_value = "number?" }

-- A number option above 0, or nil.
local function positive_or_nil(options, name, fn)
  return options[name] ~= nil and positive(options, name, fn) or nil
end

-- Checks the options (`own` are those of this kind only) and returns the description with the common options.
local function begin(kind, options, own, defaults)
  local fn = "optim." .. kind
  check.options(options, util.merged({ lr = defaults.lr and "number?" or "number" }, shared, own), fn)
  local made = {
    kind = kind,
    lr = number(options, "lr", fn, defaults.lr, 0),
    weight_decay = number(options, "weight_decay", fn, defaults.weight_decay or 0, 0),
    decay = checked_decay(options.decay, fn),
    clip_norm = positive_or_nil(options, "clip_norm", fn),
    clip_value = positive_or_nil(options, "clip_value", fn),
  }
  return setmetatable(made, Optimiser), fn
end

---Adds the pushed tensors: weights += scale * gradient. With scale = 1 the "gradient" is the update itself.
---```lua
---local w = actor.tensor.zeros(2)
---actor.optim.add():step({ w }, { actor.tensor.ones(2) })
---print(w)  --> tensor([1., 1.], float32)
---```
---@param options? {scale?: number, clip_norm?: number, clip_value?: number} default 1
---@return actor.Optimiser
function M.add(options)
  local fn = "optim.add"
  options = check.optional_options(options, { scale = "number?", clip_norm = "number?", clip_value = "number?" }, fn)
  return setmetatable({
    kind = "add",
    scale = number(options, "scale", fn, 1),
    clip_norm = positive_or_nil(options, "clip_norm", fn),
    clip_value = positive_or_nil(options, "clip_value", fn),
  }, Optimiser)
end

---Stochastic gradient descent, optionally with momentum.
---```lua
---local w, gradient = actor.tensor.ones(2), actor.tensor.full({ 2 }, 0.5)
---actor.optim.sgd({ lr = 0.1, momentum = 0.9 }):step({ w }, { gradient })
---print(w)  --> tensor([0.95, 0.95], float32)
---```
---@param options {lr: number, momentum?: number, nesterov?: boolean, weight_decay?: number, decay?: actor.Decay,
---  clip_norm?: number, clip_value?: number} weight_decay is L2: added to the gradient, as in all kinds except adamw
---@return actor.Optimiser
function M.sgd(options)
  local made, fn = begin("sgd", options, { momentum = "number?", nesterov = "boolean?" }, {})
  made.momentum = number(options, "momentum", fn, 0, 0, nil, 1)
  made.nesterov = options.nesterov or false
  if made.nesterov and made.momentum == 0 then check.wrong("nesterov", fn, "a momentum above 0 beside it", true) end
  return made
end

---Adagrad: each weight's rate is divided by the square root of the sum of its squared gradients. Source: Duchi, Hazan,
---Singer, Adaptive subgradient methods, JMLR 2011.
---```lua
---local w = actor.tensor.ones(1)
---actor.optim.adagrad({ lr = 0.1 }):step({ w }, { actor.tensor.ones(1) })
---print(("%.2f"):format(w:item()))  --> 0.90
---```
---@param options {lr: number, epsilon?: number, initial?: number, weight_decay?: number, decay?: actor.Decay,
---  clip_norm?: number, clip_value?: number} `initial` is the initial sum of squares
---@return actor.Optimiser
function M.adagrad(options)
  local made, fn = begin("adagrad", options, { epsilon = "number?", initial = "number?" }, {})
  made.epsilon = number(options, "epsilon", fn, 1e-10, 0)
  made.initial = number(options, "initial", fn, 0, 0)
  return made
end

---RMSprop: each weight's rate is divided by the square root of a moving average of its squared gradients; not centred.
---With momentum the quotients are added to a velocity, as in PyTorch. Source: Tieleman, Hinton, Lecture 6.5, Coursera
---2012.
---```lua
---local w = actor.tensor.ones(1)
---actor.optim.rmsprop({ lr = 0.01 }):step({ w }, { actor.tensor.ones(1) })
---print(("%.2f"):format(w:item()))  --> 0.90
---```
---@param options? {lr?: number, alpha?: number, epsilon?: number, momentum?: number, weight_decay?: number,
---  decay?: actor.Decay, clip_norm?: number, clip_value?: number} defaults: lr 0.01, alpha 0.99 (the factor of the old
---  average in an update), epsilon 1e-8, momentum 0
---@return actor.Optimiser
function M.rmsprop(options)
  options = options or {}
  local made, fn = begin("rmsprop", options, { alpha = "number?", epsilon = "number?", momentum = "number?" },
    { lr = 0.01 })
  made.alpha = number(options, "alpha", fn, 0.99, 0, nil, 1)
  made.epsilon = number(options, "epsilon", fn, 1e-8, 0)
  made.momentum = number(options, "momentum", fn, 0, 0, nil, 1)
  return made
end

local function adam(kind, options, weight_decay)
  options = options or {}
  local made, fn = begin(kind, options, { beta1 = "number?", beta2 = "number?", epsilon = "number?" },
    { lr = 1e-3, weight_decay = weight_decay })
  made.beta1 = number(options, "beta1", fn, 0.9, 0, nil, 1)
  made.beta2 = number(options, "beta2", fn, 0.999, 0, nil, 1)
  made.epsilon = number(options, "epsilon", fn, 1e-8, 0)
  return made
end

---Adam. Source: Kingma, Ba, Adam: a method for stochastic optimization, ICLR 2015.
---```lua
---local w = actor.tensor.ones(1)
---actor.optim.adam({ lr = 0.1 }):step({ w }, { actor.tensor.ones(1) })
---print(("%.2f"):format(w:item()))  --> 0.90
---```
---@param options? {lr?: number, beta1?: number, beta2?: number, epsilon?: number, weight_decay?: number,
---  decay?: actor.Decay, clip_norm?: number, clip_value?: number} defaults: lr 0.001, betas 0.9 and 0.999, epsilon 1e-8
---@return actor.Optimiser
function M.adam(options) return adam("adam", options) end

---Adam with decoupled weight decay: an update first multiplies each weight by 1 - lr * weight_decay, where lr follows
---its schedule. The gradient does not include the decay. Source: Loshchilov, Hutter, Decoupled weight decay
---regularization, ICLR 2019.
---```lua
---local w = actor.tensor.ones(1)
---actor.optim.adamw({ lr = 0.1, weight_decay = 0.5 }):step({ w }, { actor.tensor.zeros(1) })
---print(("%.2f"):format(w:item()))  --> 0.95
---```
---@param options? {lr?: number, beta1?: number, beta2?: number, epsilon?: number, weight_decay?: number,
---  decay?: actor.Decay, clip_norm?: number, clip_value?: number} as adam's, except weight_decay, default 0.01
---@return actor.Optimiser
function M.adamw(options) return adam("adamw", options, 0.01) end

---Returns whether the value is an optimiser's description.
---```lua
---print(actor.optim.is_optimiser(actor.optim.adam()), actor.optim.is_optimiser {})  --> true false
---```
---@param value any
---@return boolean
function M.is_optimiser(value)
  return type(value) == "table" and getmetatable(value) == Optimiser
end

local fields = { "lr", "scale", "momentum", "weight_decay", "beta1", "beta2", "epsilon", "initial", "alpha" }

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
  if decay and decay.kind == "warm_up" then
    c.warm_steps, c.warm_start = decay.steps, decay.start
    decay = decay.next
  end
  if decay then
    c.decay_kind = decay_kinds[decay.kind]
    c.decay_rate, c.decay_every, c.decay_floor = decay.rate or 0, decay.every, decay.floor or 0
  end
  return c
end

-- The Euclidean norm of numbers, independent of their order.
local function norm_of(numbers)
  local sum = 0
  for i = 1, #numbers do
    if numbers[i] - numbers[i] ~= 0 then return numbers[i] end
  end
  table.sort(numbers)
  local top = numbers[#numbers] -- squares of quotients do not overflow
  if top == 0 then return 0 end
  for i = 1, #numbers do sum = sum + (numbers[i] / top) ^ 2 end
  return top * math.sqrt(sum)
end

-- The norm of a tensor. Squares of finite elements may overflow the element type; then scaled elements are used.
local function norm_of_tensor(t)
  local norm = t:norm()
  if norm ~= math.huge then return norm end
  local small = t.dtype == "float32" and 2 ^ -70 or 2 ^ -600
  return (t * small):norm() / small
end

-- Replaces the gradients in the list by clipped gradients; clipped gradients are new tensors.
local function clip(opt, grads)
  local norms = {}
  for i = 1, #grads do
    local grad = grads[i]:contiguous() -- the norm's bits depend on the order of the elements
    if opt.clip_value then grad = grad:clamp(-opt.clip_value, opt.clip_value) end
    if opt.clip_norm then norms[i] = norm_of_tensor(grad) end
    grads[i] = grad
  end
  if #norms == 0 then return end
  local norm = norm_of(norms)
  if norm - norm ~= 0 or norm <= opt.clip_norm then return end
  for i = 1, #grads do grads[i] = grads[i] * (opt.clip_norm / norm) end
end

---Returns whether the optimiser clips gradients.
---@return boolean
function Optimiser:clips() return (self.clip_norm or self.clip_value) ~= nil end

---Returns the updates that a worker sends in place of `updates`, for the parameter server and its simulation.
---@param updates actor.param.Entry[] the result of `push`
---@return actor.param.Entry[]
function Optimiser:clip_push(updates)
  local sent, grads, places = {}, {}, {}
  for i = 1, #updates do
    local entry = updates[i]
    sent[i] = entry
    if type(entry) == "table" and base.is_tensor(entry[2]) then
      grads[#grads + 1], places[#places + 1] = entry[2], i
    end
  end
  clip(self, grads)
  for k = 1, #places do sent[places[k]] = { sent[places[k]][1], grads[k] } end
  return sent
end

-- The state of `step`, apart from the description, which remains plain data: the C value and each parameter's state by
-- name.
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

---Returns the learning rate of update number `t`, from 0.
---```lua
---print(actor.optim.sgd({ lr = 0.1 }):learning_rate(1000))  --> 0.1
---```
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

-- The state of one parameter, made at the first update and again after a change of the parameter's shape or type.
local function state_of(memory, name, param)
  local state = memory.of[name]
  local like = state and state[1]
  if not state or like and (like.count_ ~= param.count_ or like.type_ ~= param.type_) then
    state = { updates = 0 }
    for i = 1, memory.parts do
      state[i] = base.allocate_like(param, "opt:step")
      api.fill(state[i], memory.fill)
    end
    memory.of[name] = state
  end
  return state
end

local function clipped_by_name(opt, grads)
  local names, values, out = {}, {}, {}
  for name, grad in pairs(grads) do names[#names + 1], values[#values + 1] = name, grad end
  clip(opt, values)
  for i = 1, #names do out[names[i]] = values[i] end
  return out
end

---Updates the parameters in place. The optimiser's state (momentum, squares) is stored by the parameter's name.
---```lua
---local w, gradient = actor.tensor.ones(1), actor.tensor.ones(1)
---actor.optim.sgd({ lr = 0.1 }):step({ w }, { gradient }) -- with a network: { net.flat_params }, { net.flat_grads }
---print(("%.1f"):format(w:item()))  --> 0.9
---```
---@param params table<any, actor.Tensor>
---@param grads table<any, actor.Tensor> of the same names and shapes; a parameter without a gradient is unchanged
function Optimiser:step(params, grads)
  check.arg(params, "table", "params", "opt:step")
  check.arg(grads, "table", "grads", "opt:step")
  local memory = memory_of(self)
  for name, grad in pairs(grads) do check_pair(tostring(name), params[name], grad) end
  if self:clips() then grads = clipped_by_name(self, grads) end
  for name, grad in pairs(grads) do
    local param = params[name]
    local state = state_of(memory, name, param)
    if api.contiguous(grad) == 0 then grad = grad:contiguous() end
    api.optimise(memory.c, api.learning_rate(memory.c, state.updates), state.updates, grad, state[1], state[2], param)
    state.updates = state.updates + 1
  end
end

---Returns the state of `step`, as plain data for a checkpoint (actor.checkpoint).
---```lua
---actor.optim.adam():restore(actor.optim.adam():state())
---```
---@return {kind: string, of: table<any, {updates: integer, parts: actor.Tensor[]}>} by the parameters' names
function Optimiser:state()
  local of = {}
  for name, state in pairs(memory_of(self).of) do
    local parts = {}
    for i = 1, #state do parts[i] = state[i]:clone() end
    of[name] = { updates = state.updates, parts = parts }
  end
  return { kind = self.kind, of = of }
end

---Restores a state that `state` returned for an optimiser of the same kind.
---@param state table
---@return actor.Optimiser itself
function Optimiser:restore(state)
  local fn = "opt:restore"
  check.arg(state, "table", "state", fn)
  if state.kind ~= self.kind then
    check.fail("%s: the state is of optim.%s, this is optim.%s", fn, tostring(state.kind), self.kind)
  end
  check.arg(state.of, "table", "state.of", fn)
  local memory, of = memory_of(self), {}
  for name, saved in pairs(state.of) do
    local parts = saved.parts
    if #parts ~= memory.parts then
      check.fail("%s: the state of '%s' has %d tensors, an optimiser with these options has %d", fn, tostring(name),
        #parts, memory.parts)
    end
    local made = { updates = saved.updates }
    for i = 1, #parts do made[i] = parts[i]:clone() end
    of[name] = made
  end
  memory.of = of
  return self
end

function Optimiser:__tostring()
  local parts = {}
  for name, value in util.pairs(self) do
    if name == "decay" then value = value.kind end
    if name ~= "kind" then parts[#parts + 1] = ("%s=%s"):format(name, tostring(value)) end
  end
  return ("optim.%s{%s}"):format(self.kind, table.concat(parts, ", "))
end

return M
