--- The values of a simulated job, changed as in the parameter server (host/engine/param/param_store.cpp): the same
--- kernels on the same numbers give the same bits. Values are copied on the way in and out, like transferred values.
local check = require("actor.check")
local codec = require("actor.codec")
local optim = require("actor.optim")
local tensor = require("actor.tensor")
local base = require("actor.tensor.base")
local util = require("actor.util")

local api = base.api
local M = {}

---@class actor.sim.Store
local Store = {}
Store.__index = Store

---@param optimiser? actor.Optimiser for `update`
---@return actor.sim.Store
function M.new(optimiser)
  local store = setmetatable({ values = {}, steps = {}, states = {} }, Store)
  if optimiser then store:use(optimiser) end
  return store
end

---Returns the value that another node receives when `value` is sent.
---@param value any
---@return any
function M.copy(value)
  if base.is_tensor(value) then return value:clone() end
  local kind = type(value)
  if value == nil or kind == "number" or kind == "string" or kind == "boolean" then return value end
  return (assert(codec.decode(codec.encode(value))))
end

---Uses this optimiser for all further native updates.
---@param optimiser actor.Optimiser
function Store:use(optimiser)
  self.described = optim.to_c(optimiser)
  self.parts, self.fill = api.optimiser_parts(self.described), api.optimiser_fill(self.described)
end

---@param key string|number
---@return any value
---@return integer? step
function Store:get(key)
  return M.copy(self.values[key]), self.steps[key]
end

---@param key string|number
---@param value any nil removes it
---@param step? integer of the writer
function Store:set(key, value, step)
  self.values[key] = M.copy(value)
  self.steps[key] = value ~= nil and (step or 0) or nil
end

---@return (string|number)[] in order
function Store:keys()
  return util.sorted_keys(self.values)
end

local function same_kind(a, b)
  return a.type_ == b.type_ and base.same_shape(a, b)
end

local function check_update(key, value, update)
  local name = ("key '%s': an update by an optimiser"):format(tostring(key))
  if not base.is_tensor(update) then check.fail("%s has to be a tensor", name) end
  if value == nil then check.fail("%s of a key that has no value: set it first, in init", name) end
  if not base.is_tensor(value) then check.fail("%s of a value that is not a tensor", name) end
  if not same_kind(value, update) then
    check.fail("%s is %s %s, the value is %s %s", name, update.dtype, base.shape_text(update), value.dtype,
      base.shape_text(value))
  end
end

function Store:state_of(key, value)
  local state = self.states[key]
  if not state or not same_kind(state.like, value) then
    state = { made = 0, like = value }
    for i = 1, self.parts do
      state[i] = base.allocate_like(value, "param.run")
      api.fill(state[i], self.fill)
    end
    self.states[key] = state
  end
  return state
end

---Applies an update natively.
---@param key string|number
---@param update actor.Tensor
---@param clock integer completed steps of the pushing worker
---@param scale number
function Store:update(key, update, clock, scale)
  local value = self.values[key]
  check_update(key, value, update)
  local state = self:state_of(key, value)
  if scale ~= 1 then update = M.scaled(update, scale) end
  -- As in the engine, the rate depends on the pushing worker's steps, Adam's correction on the updates of the value.
  api.optimise(self.described, api.learning_rate(self.described, clock), state.made, update, state[1], state[2], value)
  state.made = state.made + 1
  self.steps[key] = clock + 1
end

---Computes scale times a tensor, as the engine does.
---@param t actor.Tensor
---@param scale number
---@return actor.Tensor
function M.scaled(t, scale)
  return tensor.zeros_like(t):axpy_(scale, t)
end

return M
