--- Evaluates a rule for all waiting workers in one call. Deterministic for a seed and a sequence of events: each worker
--- has its own random streams (by id), so a result does not depend on the workers evaluated before, unless the rule
--- keeps state in view.shared.
local ffi = require("ffi")
local check = require("actor.check")
local enum = require("actor.enum")
local rules = require("actor.barrier.rule")
local views = require("actor.barrier.view")
local api = require("actor.ffi")("barrier")

---@class actor.barrier.Evaluator
---@field rule actor.barrier.Rule the current rule
---@field label string the rule's name in error messages
---@field batch ffi.cdata* the batch, filled by the caller (bindings/modules/engine/ffi_barrier.h)
---@field evaluate_one fun() evaluates the rule for the batch's only worker
---@field evaluate_all fun() evaluates the rule for each worker of the batch
local Evaluator = {}
Evaluator.__index = Evaluator

local magic = 0x6863746162 -- AH_ADMISSION_BATCH_MAGIC
local watches = enum("AH_WATCH", "floor event timer worker")

-- Each evaluator loads the loop anew: the JIT compiles it for the current rule, and traces of one rule do not become
-- side exits of another's.
local loop = [[
local batch, view, context, invalid_result, invalid_worker = ...
local type = type

local function begin_round()
  local everyone = batch.everyone
  local n = everyone.n
  local population = batch.population
  if batch.aggregates ~= 0 then n = population end
  view.now, view.n, view.population = batch.now, n, population
  view.buffered = batch.buffered
  view._lowest, view._highest = everyone.lowest, everyone.highest
  view._round = view._round + 1
end

local function is_id(worker) return type(worker) == "number" and worker >= 0 and worker < 2 ^ 32 end

local function is_step(step) return type(step) == "number" and step >= 1 and step < 2 ^ 31 end

local function evaluate(k)
  local slot = batch.waiting[k]
  batch.slot = slot
  local id = batch.ids[slot]
  view.step = batch.steps[slot]
  view.id, view.waited, view.shared = id, batch.now - batch.requested_at[slot], context.shared
  local pass, recheck, worker, step = context.rule(view)
  if pass == true then
    batch.decisions[k].pass = 1
    if context.remembers then context.memories[id] = nil end
  elseif pass ~= false then
    invalid_result(pass)
  else
    if recheck ~= nil then
      if type(recheck) ~= "number" or not (recheck >= 0) then invalid_result(pass, recheck) end
      batch.decisions[k].recheck_seconds = recheck
    end
    if worker ~= nil and context.names then
      if not (is_id(worker) and is_step(step)) then invalid_worker(worker, step) end
      batch.decisions[k].worker, batch.decisions[k].step = worker, step
    end
  end
end

local function evaluate_one()
  begin_round()
  evaluate(0)
end

local function evaluate_all()
  begin_round()
  for k = 0, batch.count - 1 do evaluate(k) end
end

return evaluate_one, evaluate_all
]]

-- "number 7", "string 'soon'", "true", "nil", "table".
local function described(value)
  local kind = type(value)
  if kind == "number" then return "number " .. value end
  if kind == "string" then return ("string '%s'"):format(value) end
  return kind == "boolean" and tostring(value) or kind
end

local function invalid_result(pass, recheck)
  local got = pass == false and "false, " .. described(recheck) or described(pass)
  error(("returned %s, expected true, false, or false and the seconds until its next evaluation%s")
    :format(got, pass == nil and " (is a 'return' missing?)" or ""), 0)
end

local function invalid_worker(worker, step)
  error(("returned false and named worker %s at step %s, expected its id and a step of at least 1"):format(described(worker),
    described(step)), 0)
end

---@param rule actor.barrier.Rule
---@param seed number|integer
---@return actor.barrier.Evaluator
function Evaluator.new(rule, seed)
  local batch = ffi.new("ah_admission_batch")
  batch.magic = magic
  local context = { seed = seed, samplings = 0, memories = {}, shared = {}, rngs = {}, remembers = false, names = false }
  local view = views.new(batch, batch.everyone, context)
  local make = assert(load(loop, "@stdlib/actor/barrier/evaluator.lua(loop)", "t"))
  local one, all = make(batch, view, context, invalid_result, invalid_worker)
  local self = setmetatable({ batch = batch, evaluate_one = one, evaluate_all = all, _context = context }, Evaluator)
  self:set(rule)
  return self
end

---Sets another rule: it is evaluated for all waiting workers again, and the state of the old rule is dropped.
---@param rule actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number?
function Evaluator:set(rule)
  rule = rules.of(rule, "evaluator:set")
  self.rule, self.label = rule, rules.label(rule)
  self._context.rule, self._context.names = rule.run, rule.watches == "worker"
  self._context.memories, self._context.shared = {}, {}
  self.batch.staleness = rule.staleness or -1
  self.batch.watch = watches[rule.watches]
  self.batch.version = self.batch.version + 1
end

---For evaluators that serve one worker each: a rule that uses `view.shared` then raises an error with the reason.
function Evaluator:forbid_shared_state()
  self._context.shared = setmetatable({}, {
    __index = function()
      error("it cannot be used here, where each worker evaluates its own rule: it keeps state for all workers (view.shared)", 0)
    end,
  })
end

local passed_ids = ffi.new("const uint32_t*[1]")

---Returns the workers of `progress` that may continue now, in the order in which they began to wait; they no longer
---wait. Call it after completions, after changes of membership and at progress:next_time(). An evaluator serves one
---progress.
---@param progress actor.barrier.Progress
---@param now number seconds, never less than before
---@return number[] ids
function Evaluator:poll(progress, now)
  if self._progress ~= progress then
    if self._progress then check.fail("an evaluator serves one progress; make another evaluator") end
    self._progress = progress
  end
  local batch, handle = self.batch, progress.handle
  local swapped = self._polled ~= self.rule
  self._polled = self.rule
  api.progress_begin(handle, now, swapped and 1 or 0, batch)
  if batch.count > 0 then
    local ok, message = pcall(batch.count == 1 and self.evaluate_one or self.evaluate_all)
    batch.live = 0
    if not ok then error(self.label .. ": " .. tostring(message), 0) end
  end
  local ids = {}
  local count = api.progress_finish(handle, passed_ids)
  for i = 1, count do ids[i] = passed_ids[0][i - 1] end
  return ids
end

return Evaluator
