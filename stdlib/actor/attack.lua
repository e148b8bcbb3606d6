--- Attacks on training, for experiments with robust merge rules: `--attack KIND[:WORKERS[:FACTOR]]` and
--- `sim --train "mnist attack=KIND"`. The workers 0 to WORKERS - 1 are attackers (default: one). The server changes
--- their pushes when they arrive, except for `label`:
---
--- * sign: the negated update, multiplied by FACTOR (1).
--- * noise: the update plus normal noise in each element. The deviation is FACTOR (0.2) times the norm of the update
---   (random disturbance: Yang, Li, BASGD, 2021).
--- * lie: the mean minus FACTOR (1.5) deviations, for each element, of the newest pushes of all honest workers (Baruch,
---   Baruch, Goldberg, A little is enough, NeurIPS 2019). The paper's attack is synchronous; the newest pushes are our
---   form for other barriers. Before two honest workers have pushed, the push is dropped.
--- * label: the attackers train with the labels K + 1 - label of K classes, in nn.cross_entropy.
local check = require("actor.check")
local losses = require("actor.nn.losses")
local rng = require("actor.rng")
local spelling = require("actor.c.names")
local tensor = require("actor.tensor")
local util = require("actor.util")
local values = require("actor.merge.values")

local M = {}

---@class actor.Attack
---@field name string "sign:2"
---@field kind "sign"|"noise"|"label"|"lie"
---@field workers integer
---@field factor number
---@field seed integer `begin` sets it
local Attack = {}
Attack.__index = Attack

local factors = { sign = 1, noise = 0.2, label = 1, lie = 1.5 } -- the defaults

---Makes an attack from its text.
---```lua
---print(require("actor.attack").from("sign:2").workers)  --> 2
---```
---@param text string "sign:2"
---@return actor.Attack
function M.from(text)
  local kind, workers, factor = text:match("^(%a+):?([^:]*):?([^:]*)$")
  if not factors[kind or ""] then
    check.fail("attack '%s': expected sign, noise, label or lie%s", text,
      kind and spelling.suggestion(kind, factors, "'", "'") or "")
  end
  local function number(word, default, low, what)
    if word == "" then return default end
    local value = tonumber(word)
    if not value or not (value >= low and value < math.huge) then
      check.fail("attack '%s': %s has to be at least %g, got '%s'", text, what, low, word)
    end
    return value
  end
  local count = number(workers, 1, 1, "the number of workers")
  if count % 1 ~= 0 then check.fail("attack '%s': the number of workers has to be whole, got '%s'", text, workers) end
  if kind == "label" and factor ~= "" then check.fail("attack '%s': label has no factor", text) end
  return setmetatable({
    name = text, kind = kind, workers = count,
    factor = number(factor, factors[kind], 0, "the factor"), latest = {},
  }, Attack)
end

---Begins a run.
---@param size integer number of workers at the start
---@param seed integer
---@return actor.Attack self
function Attack:begin(size, seed)
  if self.workers >= size then
    check.fail("attack '%s': a run of %d workers has at most %d attackers", self.name, size, size - 1)
  end
  self.seed = seed
  return self
end

---Whether a worker is an attacker.
---@param id integer
---@return boolean
function Attack:by(id) return id < self.workers end

local change = {} -- by kind: returns other values for a push

function change.sign(self, push) return values.added(nil, -self.factor, push.update) end

function change.noise(self, push)
  local deviation = self.factor * push:norm()
  local random = rng(self.seed, (push.worker + 1) * 2 ^ 24 + push.step)
  return values.map(function(x)
    if type(x) == "number" then return x + deviation * random:normal() end
    return x + tensor.normal(x.shape, { rng = random, dtype = x.dtype }) * deviation
  end, push.update)
end

function change.lie(self)
  local updates = {}
  for _, update in util.pairs(self.latest) do updates[#updates + 1] = update end
  if #updates < 2 then return nil end
  return values.map(function(...)
    local sum, squares = 0, 0
    for i = 1, select("#", ...) do sum = (select(i, ...)) + sum end
    local mean = sum / #updates
    for i = 1, select("#", ...) do
      local difference = (select(i, ...)) - mean
      squares = difference * difference + squares
    end
    local variance = squares / (#updates - 1)
    return mean - (type(variance) == "number" and math.sqrt(variance) or variance:sqrt()) * self.factor
  end, unpack(updates))
end

---Changes the push of an attacker.
---@param push actor.merge.Push
---@param set fun(push: actor.merge.Push, update: any)
---@return boolean dropped there is no such push
function Attack:on_push(push, set)
  if self.kind == "label" then return false end
  if not self:by(push.worker) then
    if self.kind == "lie" then self.latest[push.worker] = push.update end
    return false
  end
  local update = change[self.kind](self, push)
  if update == nil then return true end
  set(push, update)
  return false
end

---Calls `fn`, which computes the update of worker `id`, with wrong labels if the attack has them.
---@param id integer
---@param fn fun(...): any
---@param ... any arguments of `fn`
---@return any
function Attack:compute(id, fn, ...)
  if self.kind ~= "label" or not self:by(id) then return fn(...) end
  local result, flipped = losses.with_flipped_labels(fn, ...)
  if flipped == 0 then
    check.fail("attack '%s': the worker computed no nn.cross_entropy, so there were no labels to change", self.name)
  end
  return result
end

return M
