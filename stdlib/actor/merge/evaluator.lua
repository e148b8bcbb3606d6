--- Evaluates a merge rule for each push, and keeps the pushes that the rule holds. The parameter server and the
--- simulator use it, so a rule decides equally in both.
local check = require("actor.check")
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---A complete push.
---@class actor.merge.Push
---@field worker integer id of the worker
---@field step integer steps that the worker had completed before this step
---@field version integer the model's version when the worker began the step
---@field staleness integer versions of the model since then
---@field behind integer steps behind the newest push
---@field peers integer under bsp the number of pushes of the same step that the barrier releases together, else 1
---@field left integer how many of these follow after this push
---@field weight? number of a held push: the second result of its "hold"
---@field update table<any, any> its values by key; do not change them. On the parameter server a copy, and with one server only, like the next four fields
---@field dot fun(self, other: actor.merge.Push|table): number scalar product of all floats, with another push or with values by key, such as view.last
---@field norm fun(self): number Euclidean norm
---@field distance fun(self, other: actor.merge.Push|table): number
---@field cosine fun(self, other: actor.merge.Push|table): number 0 if a norm is 0

---A step of a worker whose push has not arrived.
---@class actor.merge.Pending
---@field worker integer
---@field step integer
---@field version integer the model's version when the worker began the step
---@field staleness integer versions of the model since then

---The state of the model and of the run.
---@class actor.merge.View
---@field version integer updates of the model: pushes that are merged together are one update
---@field held actor.merge.Push[] the pushes that the rule has held, the oldest first
---@field workers integer live workers of the run
---@field slowest integer steps that every live worker has completed, the step of the new push included
---@field now number seconds
---@field memory table the rule's own state; a new rule begins with an empty table
---@field last? table<any, any> values of the last update of the model, by key; nil before the first update after the rule has read this field once
---@field pending fun(self): actor.merge.Pending[] the steps in progress, by worker
---@field value fun(self, key: any): any a copy of the present value of a key; with one server only
---@field with fun(self, push: actor.merge.Push): actor.merge.Push[] the held pushes and then this push
---@field trimmed_mean fun(self, pushes: actor.merge.Push[], trim: integer): table result for a rule: these pushes become one update, for each element the mean without the `trim` smallest and greatest; needs an optimiser as `pull`
---@field update fun(self, pushes: actor.merge.Push[], values: table<any, any>): table result for a rule: these pushes become one update with these values, which have the keys and shapes of push.update; with one server only

---Where an evaluator finds the values of pushes.
---@class actor.merge.Source
---@field dot fun(a: actor.merge.Push, b: actor.merge.Push): number
---@field get? fun(push: actor.merge.Push): table<any, any> default: the field `update`
---@field set fun(push: actor.merge.Push, update?: table<any, any>) nil: the push has no values
---@field pending fun(): actor.merge.Pending[] without staleness
---@field value fun(key: any): any
---@field slowest? fun(): integer steps that every live worker has completed; not needed where view.slowest is set

---@class actor.merge.Evaluator
---@field rule actor.merge.Rule the current rule
---@field label string the rule's name for messages
---@field merges_all boolean it merges every push at once, unchanged
---@field keeps_pushes boolean it may hold pushes after a barrier
---@field attack? actor.Attack changes pushes before the rule sees them
---@field combines boolean updates can be combined by element: an optimiser applies them
---@field view actor.merge.View
local Evaluator = {}
Evaluator.__index = Evaluator

local View = {}

function View:__index(key)
  if key == "last" then rawset(self, "_keeps_last", true) end
  if key == "slowest" then return self._source.slowest() end -- the server sets it instead
  return View[key]
end

function View:pending()
  local steps = self._source.pending()
  for _, step in ipairs(steps) do step.staleness = self.version - step.version end
  return steps
end

function View:value(key) return self._source.value(key) end

function View:with(push)
  local pushes = {}
  for i, held in ipairs(self.held) do pushes[i] = held end
  pushes[#pushes + 1] = push
  return pushes
end

local Combined = {} -- the metatable of results of view:trimmed_mean and view:update

function View.trimmed_mean(_, pushes, trim)
  if type(pushes) ~= "table" then check.wrong("pushes", "view:trimmed_mean", "a table of pushes", pushes) end
  check.integer(trim, "trim", "view:trimmed_mean", 0, 2 ^ 31)
  if 2 * trim >= #pushes then
    check.fail("view:trimmed_mean: of %d pushes it cannot leave out %d smallest and %d greatest", #pushes, trim, trim)
  end
  return setmetatable({ pushes = pushes, trim = trim }, Combined)
end

function Evaluator.own_update(_, pushes, updated)
  if type(pushes) ~= "table" or not pushes[1] then check.wrong("pushes", "view:update", "a table of pushes", pushes) end
  if updated == nil then check.wrong("values", "view:update", "values like those of push.update", updated) end
  return setmetatable({ pushes = pushes, values = updated }, Combined)
end

View.update = Evaluator.own_update

-- The metatable of pushes with values from `source`.
function Evaluator.push_class(source)
  local Push = {}
  function Push:__index(key)
    if key ~= "update" or not source.get then return Push[key] end
    local update = source.get(self)
    rawset(self, "update", update)
    return update
  end
  function Push:dot(other)
    if getmetatable(other) == Push then return source.dot(self, other) end
    return values.dot(self.update, other)
  end
  function Push:norm() return math.sqrt(source.dot(self, self)) end
  -- The product of another push, or of values, with itself.
  local function square(other) return getmetatable(other) == Push and source.dot(other, other) or values.dot(other, other) end
  function Push:distance(other)
    local squared = square(self) - 2 * self:dot(other) + square(other)
    return math.sqrt(squared < 0 and 0 or squared) -- NaN stays
  end
  function Push:cosine(other)
    local norms = math.sqrt(square(self) * square(other))
    return norms > 0 and self:dot(other) / norms or 0
  end
  return Push
end

---@param rule actor.merge.Rule
---@param source actor.merge.Source
---@param attack? actor.Attack that has begun
---@return actor.merge.Evaluator
function Evaluator.new(rule, source, attack)
  local view = setmetatable({ version = 0, held = {}, workers = 0, now = 0, memory = {}, _source = source }, View)
  local self = setmetatable({
    view = view, combines = true, attack = attack, _source = source, _push_class = Evaluator.push_class(source),
  }, Evaluator)
  self:set(rule)
  return self
end

---Sets another rule. The new rule finds the held pushes in view.held.
---@param rule actor.merge.Rule
function Evaluator:set(rule)
  self.rule, self.label, self.view.memory = rule, rules.label(rule), {}
  self.merges_all = rule.native == "all" and not self.attack
  self.keeps_pushes = rule.native ~= "all" and not rule.bsp
end

function Evaluator.described(value)
  local kind = type(value)
  if kind == "number" then return ("number %g"):format(value) end
  if kind == "string" then return ("string '%s'"):format(value) end
  return kind == "boolean" and tostring(value) or kind
end

function Evaluator.is_weight(value) return type(value) == "number" and value > -math.huge and value < math.huge end

local is_weight = Evaluator.is_weight

local function fail(self, message, ...)
  error(self.label .. ": " .. message:format(...), 0)
end

local function refuse(self, got)
  fail(self, "returned %s, expected a finite weight, \"hold\", \"drop\" or a table {[push] = weight or \"drop\"}%s",
    Evaluator.described(got), got == nil and " (is a 'return' missing?)" or "")
end

-- Takes the named pushes out of the held pushes.
local function choose(self, chosen, push)
  local held, kept, merged, dropped, known = self.view.held, {}, {}, {}, 0
  held[#held + 1] = push
  for _, one in ipairs(held) do
    local what = chosen[one]
    if what == nil then
      kept[#kept + 1] = one
    else
      known = known + 1
      if what == "drop" then
        dropped[#dropped + 1] = one
      elseif is_weight(what) then
        one.weight = what
        merged[#merged + 1] = one
      else
        fail(self, "gave worker %d's push %s, expected a finite weight or \"drop\"", one.worker, Evaluator.described(what))
      end
    end
  end
  for key in pairs(chosen) do
    known = known - 1
    if known < 0 then fail(self, "returned a table with %s as a key, expected pushes of view.held and the new push", Evaluator.described(key)) end
  end
  self.view.held = kept
  return merged, dropped
end

-- The pushes of a result of view:trimmed_mean or view:update as the table of `choose`.
local function combined(self, result)
  if result.trim and not self.combines then fail(self, "the trimmed mean needs an optimiser as pull, which applies it") end
  local chosen = {}
  for _, push in ipairs(result.pushes) do chosen[push] = 1 end
  return chosen
end

-- Gives the merged pushes these values together: the first push has all of them.
local function set_values(self, merged, updated)
  local misfit = values.misfit(updated, merged[1].update)
  if misfit then fail(self, "gave an update of which %s", misfit) end
  for i, push in ipairs(merged) do self._source.set(push, i == 1 and updated or nil) end
end

-- Keeps the values of an update for view.last.
local function keep_last(self, merged, trim)
  local view = self.view
  if #merged == 0 or not rawget(view, "_keeps_last") then return end
  local last
  if trim then
    local updates = {}
    for i, push in ipairs(merged) do updates[i] = push.update end
    last = values.trimmed_mean(updates, trim)
  else
    for _, push in ipairs(merged) do last = values.added(last, push.weight, push.update) end
  end
  rawset(view, "last", last)
end

local none = {}

-- As `take`, but keeps no values for view.last.
local function decide(self, push)
  local view = self.view
  local fine, result, weight = pcall(self.rule.run, view, push)
  if not fine then error(self.label .. ": " .. tostring(result), 0) end
  if is_weight(result) then
    local merged = view.held
    for _, one in ipairs(merged) do one.weight = one.weight or result end
    push.weight = result
    merged[#merged + 1] = push
    view.held = {}
    return merged, none
  elseif result == "hold" then
    if weight ~= nil and not is_weight(weight) then refuse(self, weight) end
    push.weight = weight
    view.held[#view.held + 1] = push
    return none, none
  elseif result == "drop" then
    return none, { push }
  elseif type(result) ~= "table" then
    refuse(self, result)
  end
  if getmetatable(result) ~= Combined then return choose(self, result, push) end
  local merged, dropped = choose(self, combined(self, result), push)
  if result.values then set_values(self, merged, result.values) end
  return merged, dropped, result.trim
end

---Decides about a push. The pushes of `merged` become one update: the sum of `weight` times push or, if `trim` is
---given, the trimmed mean.
---@param push table a push without its methods
---@return actor.merge.Push[] merged
---@return actor.merge.Push[] dropped
---@return integer? trim
function Evaluator:take(push)
  setmetatable(push, self._push_class)
  push.staleness = self.view.version - push.version
  if self.attack and self.attack:on_push(push, self._source.set) then return none, { push } end
  local merged, dropped, trim = decide(self, push)
  keep_last(self, merged, trim)
  return merged, dropped, trim
end

---Ends the run: merges the held pushes that have a weight, and drops the others.
---@return actor.merge.Push[] merged
---@return actor.merge.Push[] dropped
function Evaluator:finish()
  local merged, dropped = {}, {}
  for _, push in ipairs(self.view.held) do
    local list = push.weight and merged or dropped
    list[#list + 1] = push
  end
  self.view.held = {}
  return merged, dropped
end

-- ---- for the server (bindings/modules/engine/lua_merge_rule.cpp) ----

local function flat(pushes, with_weight)
  local out = {}
  for _, push in ipairs(pushes) do
    out[#out + 1], out[#out + 2] = push.worker, push.step
    if with_weight then out[#out + 1] = push.weight end
  end
  return out
end

---As `take` and `finish`, with numbers. Returns {worker, step, weight, ...} of the merged pushes, {worker, step, ...}
---of the dropped pushes, and the trim. The most frequent decisions make no tables: `decide` returns only the weight of
---this push, or nothing if it is held.
function Evaluator:decide(worker, step, version, peers, left, now, model_version, newest, workers, slowest)
  local view = self.view
  view.now, view.version, view.workers, view.slowest = now, model_version, workers, slowest
  local push = {
    worker = worker, step = step, version = version, behind = newest - step, peers = peers, left = left,
  }
  local merged, dropped, trim = self:take(push)
  if merged == none and dropped == none then return end
  if dropped == none and merged[1] == push then return push.weight end
  return flat(merged, true), flat(dropped, false), trim
end

function Evaluator:end_run()
  local merged, dropped = self:finish()
  return flat(merged, true), flat(dropped, false)
end

return Evaluator
