--- Evaluates a merge rule for each push, and keeps the pushes that the rule holds. The parameter server and the
--- simulator use it, so a rule decides equally in both.
local check = require("actor.check")
local rules = require("actor.merge.rule")

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
---@field dot fun(self, other: actor.merge.Push): number scalar product of all floats of the two pushes; on the parameter server with one server only, like the next three
---@field norm fun(self): number Euclidean norm
---@field distance fun(self, other: actor.merge.Push): number
---@field cosine fun(self, other: actor.merge.Push): number 0 if a norm is 0

---The state of the model and of the run.
---@class actor.merge.View
---@field version integer updates of the model: pushes that are merged together are one update
---@field held actor.merge.Push[] the pushes that the rule has held, the oldest first
---@field workers integer live workers of the run
---@field now number seconds
---@field memory table the rule's own state; a new rule begins with an empty table
---@field with fun(self, push: actor.merge.Push): actor.merge.Push[] the held pushes and then this push
---@field trimmed_mean fun(self, pushes: actor.merge.Push[], trim: integer): table result for a rule: these pushes become one update, for each element the mean without the `trim` smallest and greatest; needs an optimiser as `pull`

---@class actor.merge.Evaluator
---@field rule actor.merge.Rule the current rule
---@field label string the rule's name for messages
---@field merges_all boolean it merges every push at once, unchanged
---@field keeps_pushes boolean it may hold pushes after a barrier
---@field combines boolean updates can be combined by element: an optimiser applies them
---@field replaces boolean an update is the new value, so it has no weight
---@field view actor.merge.View
local Evaluator = {}
Evaluator.__index = Evaluator

local View = {}
View.__index = View

function View:with(push)
  local pushes = {}
  for i, held in ipairs(self.held) do pushes[i] = held end
  pushes[#pushes + 1] = push
  return pushes
end

local Combined = {} -- the metatable of results of view:trimmed_mean

function View.trimmed_mean(_, pushes, trim)
  if type(pushes) ~= "table" then check.wrong("pushes", "view:trimmed_mean", "a table of pushes", pushes) end
  check.integer(trim, "trim", "view:trimmed_mean", 0, 2 ^ 31)
  if 2 * trim >= #pushes then
    check.fail("view:trimmed_mean: of %d pushes it cannot leave out %d smallest and %d greatest", #pushes, trim, trim)
  end
  return setmetatable({ pushes = pushes, trim = trim }, Combined)
end

-- The metatable of pushes whose scalar product is `dot`.
local function push_class(dot)
  local Push = {}
  Push.__index = Push
  function Push:dot(other) return dot(self, other) end
  function Push:norm() return math.sqrt(dot(self, self)) end
  function Push:distance(other)
    return math.sqrt(math.max(0, dot(self, self) - 2 * dot(self, other) + dot(other, other)))
  end
  function Push:cosine(other)
    local norms = self:norm() * other:norm()
    return norms > 0 and dot(self, other) / norms or 0
  end
  return Push
end

---@param rule actor.merge.Rule
---@param dot fun(a: actor.merge.Push, b: actor.merge.Push): number
---@return actor.merge.Evaluator
function Evaluator.new(rule, dot)
  local view = setmetatable({ version = 0, held = {}, workers = 0, now = 0, memory = {} }, View)
  local self = setmetatable({ view = view, combines = true, replaces = false, _push_class = push_class(dot) }, Evaluator)
  self:set(rule)
  return self
end

---Sets another rule. The new rule finds the held pushes in view.held.
---@param rule actor.merge.Rule
function Evaluator:set(rule)
  self.rule, self.label, self.view.memory = rule, rules.label(rule), {}
  self.merges_all = rule.native == "all"
  self.keeps_pushes = not self.merges_all and not rule.bsp
end

local function described(value)
  local kind = type(value)
  if kind == "number" then return ("number %g"):format(value) end
  if kind == "string" then return ("string '%s'"):format(value) end
  return kind == "boolean" and tostring(value) or kind
end

local function is_weight(value) return type(value) == "number" and value > -math.huge and value < math.huge end

local function fail(self, message, ...)
  error(self.label .. ": " .. message:format(...), 0)
end

local function refuse(self, got)
  fail(self, "returned %s, expected a finite weight, \"hold\", \"drop\" or a table {[push] = weight or \"drop\"}%s",
    described(got), got == nil and " (is a 'return' missing?)" or "")
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
        fail(self, "gave worker %d's push %s, expected a finite weight or \"drop\"", one.worker, described(what))
      end
    end
  end
  for key in pairs(chosen) do
    known = known - 1
    if known < 0 then fail(self, "returned a table with %s as a key, expected pushes of view.held and the new push", described(key)) end
  end
  self.view.held = kept
  return merged, dropped
end

-- The pushes of a result of view:trimmed_mean as the table of `choose`.
local function combined(self, result)
  if not self.combines then fail(self, "the trimmed mean needs an optimiser as pull, which applies it") end
  local chosen = {}
  for _, push in ipairs(result.pushes) do chosen[push] = 1 end
  return chosen
end

local none = {}

---Decides about a push. The pushes of `merged` become one update: the sum of `weight` times push or, if `trim` is
---given, the trimmed mean.
---@param push table a push without its methods
---@return actor.merge.Push[] merged
---@return actor.merge.Push[] dropped
---@return integer? trim
function Evaluator:take(push)
  local view = self.view
  setmetatable(push, self._push_class)
  push.staleness = view.version - push.version
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
  return merged, dropped, result.trim
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
function Evaluator:decide(worker, step, version, peers, left, now, model_version, newest, workers)
  local view = self.view
  view.now, view.version, view.workers = now, model_version, workers
  local push = {
    worker = worker, step = step, version = version, behind = newest - step, peers = peers, left = left,
  }
  local merged, dropped, trim = self:take(push)
  for i = 1, self.replaces and #merged or 0 do
    if merged[i].weight ~= 1 then
      fail(self, "gave a weight of %g, but without pull an update is the new value", merged[i].weight)
    end
  end
  if merged == none and dropped == none then return end
  if dropped == none and merged[1] == push then return push.weight end
  return flat(merged, true), flat(dropped, false), trim
end

function Evaluator:end_run()
  local merged, dropped = self:finish()
  return flat(merged, true), flat(dropped, false)
end

return Evaluator
