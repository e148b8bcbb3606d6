--- Applies a merge rule on the worker that pushes, for peers: no peer receives all pushes of the model. The rule sees
--- this worker's push, its values, the number of live workers, the time and its own memory. Reading another field, such
--- as the staleness, is an error, and so is a held push.
local evaluators = require("actor.merge.evaluator")
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

local M = {}

local reason = "no peer knows it; param.run has a server that does"

-- A metatable: reading a field of `fields` is an error that begins with `name`.
local function without(name, fields, methods)
  return {
    __index = function(_, key)
      if fields[key] then error(("it reads %s.%s: %s"):format(name, key, reason), 0) end
      return methods and methods[key]
    end,
  }
end

local View = without("view", {
  version = true, held = true, slowest = true, last = true, with = true, pending = true, value = true, trimmed_mean = true,
}, { update = evaluators.own_update })

local hidden = { version = true, staleness = true, behind = true, peers = true, left = true }

---@class actor.merge.WorkerRule
---@field rule actor.merge.Rule
---@field view table
local WorkerRule = {}
WorkerRule.__index = WorkerRule

---@param rule actor.merge.Rule
---@param source actor.merge.Source
---@return actor.merge.WorkerRule
function M.new(rule, source)
  local Push = evaluators.push_class(source)
  local methods = Push.__index
  local strict = without("push", hidden)
  function Push.__index(push, key) return strict.__index(push, key) or methods(push, key) end
  return setmetatable({
    rule = rule, view = setmetatable({ workers = 0, now = 0, memory = {} }, View), _push_class = Push,
  }, WorkerRule)
end

local function fail(self, message, ...) error(rules.label(self.rule) .. ": " .. message:format(...), 0) end

---Decides about the entries of a push. Returns the entries to send; none if the push is dropped.
---@param entries any the result of the callback `push`; another value than a list of entries is returned unchanged
---@param ctx {id: integer, step: integer, workers: integer, seconds: number}
---@param mixes boolean an update is the new value, so it cannot be weighed
---@return any entries
function WorkerRule:apply(entries, ctx, mixes)
  local update = {}
  for _, entry in ipairs(type(entries) == "table" and entries or {}) do
    if type(entry) ~= "table" or entry[1] == nil then return entries end
    update[entry[1]] = entry[2]
  end
  if next(update) == nil then return entries end
  self.view.workers, self.view.now = ctx.workers, ctx.seconds
  local push = setmetatable({ worker = ctx.id, step = ctx.step, update = update }, self._push_class)
  local fine, result = pcall(self.rule.run, self.view, push)
  if not fine then fail(self, "%s", tostring(result)) end
  if result == "drop" then return {} end
  if type(result) == "table" and result.values ~= nil then
    local misfit = values.misfit(result.values, update)
    if misfit then fail(self, "gave an update of which %s", misfit) end
    local out = {}
    for i, entry in ipairs(entries) do out[i] = { entry[1], result.values[entry[1]] } end
    return out
  end
  if result == 1 then return entries end
  if not evaluators.is_weight(result) then
    fail(self, "returned %s, expected a finite weight, \"drop\" or view:update(...): peers hold no pushes",
      evaluators.described(result))
  end
  if mixes then fail(self, "gave a weight of %g, but peers without pull cannot mix values", result) end
  local out = {}
  for i, entry in ipairs(entries) do
    local kind = type(entry[2])
    if kind ~= "number" and kind ~= "cdata" then fail(self, "gave a weight of %g to a %s", result, kind) end
    out[i] = { entry[1], entry[2] * result }
  end
  return out
end

return M
