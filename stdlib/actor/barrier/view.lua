--- A view is the argument of a barrier rule: the clocks of the workers that the waiting worker sees. Its arrays read
--- the owner's memory in place, so a view costs nothing per worker and is valid only while its rule runs.
local ffi = require("ffi")
local enum = require("actor.enum")
local api = require("actor.ffi")("barrier")
local new_rng = require("actor.rng")

---What a rule sees. The expression after each field is a rule's result.
---@class actor.barrier.View
---@field step number completed steps of the waiting worker: `view.step - view:min() <= 4`
---@field id number its permanent id: `view.id ~= 0 or view:behind(0) == 0`
---@field n number the number of seen workers: `view:passed(view.step) >= view.n - 1`
---@field population number the number of all workers: `view:passed(view.step) >= math.min(view.n, view.population / 2)`
---@field now number seconds on the run's clock: `view.now < 10 or view:behind(4) == 0`
---@field waited number seconds since the worker began to wait: `view:behind(0) == 0 or view.waited >= 2`
---@field buffered number pushes that the merge rule holds (actor.merge): `view.buffered < 8`
---@field duration number seconds of its last step, 0 before the first: `view.duration > 1 or view:behind(2) == 0`
---@field average number seconds of its recent steps, exponentially smoothed; 0 before the first: `view.waited >= view.average`
---@field steps number[] completed steps of the seen workers, 1 .. n; `#view.steps` is n: `view.n == 0 or view.step <= view.steps[1] + 4`
---@field ids number[] their permanent ids: `view.n == 0 or view.ids[1] ~= 3`
---@field busy boolean[] whether they work on a step now: `view.n == 0 or not view.busy[1]`
---@field alive boolean[] false for a suspected worker: `view.n == 0 or not view.alive[1] or view:behind(0) == 0`
---@field pulled number[] the model version of their last pull: `view.n == 0 or view.pulled[1] >= view.step - 4`
---@field started number[] start of their current step, or else of their last step, on the run's clock: `view.n == 0 or view.now - view.started[1] < 5`
---@field durations number[] seconds of their last step, 0 before the first: `view.n == 0 or view.duration >= view.durations[1] / 2`
---@field averages number[] seconds of their recent steps, smoothed: `view.n == 0 or view.average >= view.averages[1] / 2`
---@field rng actor.Rng the waiting worker's own random stream: `view.rng:uniform() < 0.1 or view:behind(0) == 0`
---@field memory table state of the rule about the waiting worker, from the start of its wait until it passes: `view.memory.seen or view:behind(0) == 0`
---@field shared table state of the rule about all workers, while the rule is in use; one rule of several uses view.shared[rule]: `view.step <= (view.shared.limit or 100)`
local View = {}

local M = {}

local huge = math.huge

-- --- arrays ---

local function stale()
  error("a view can be used only while its rule runs", 3)
end

-- With peers no worker sees all clocks: a view without a sample then has no clocks in its arrays, only their minimum.
local function unsampled(what)
  error(("use sample: no worker here knows all clocks, so %s needs a sample (without a sample: min() and n)")
    :format(what), 3)
end

local function length(array)
  if array.seen.n == 0 and array.batch.aggregates ~= 0 then unsampled("an array's length") end
  return array.seen.n
end

local function bad_index(array, name, i)
  if array.batch.aggregates ~= 0 then unsampled("view." .. name) end
  if type(i) ~= "number" then error(("view.%s has no field '%s'; it is an array"):format(name, tostring(i)), 3) end
  local n = tonumber(array.seen.n)
  error(("view.%s[%s] is out of range: %d worker%s seen"):format(name, tostring(i), n, n == 1 and " is" or "s are"), 3)
end

local function read_only(_, i)
  error(("a view's arrays cannot be changed (index %s)"):format(tostring(i)), 2)
end

-- One metatype per array, so that each compiles to a bounds check and two loads.
local function array_type(name, element)
  ffi.cdef(("typedef struct { const struct ah_admission_batch* batch; const struct ah_seen* seen; } ah_view_%s;"):format(name))
  local function index(array, i)
    local seen = array.seen
    if array.batch.live == 0 then stale() end
    if type(i) ~= "number" or not (i >= 1 and i <= seen.n) or i % 1 ~= 0 then bad_index(array, name, i) end
    return element(array.batch, seen.slots[i - 1])
  end
  return ffi.metatype("ah_view_" .. name, { __index = index, __len = length, __newindex = read_only })
end

local arrays = {
  steps = array_type("steps", function(batch, slot) return batch.steps[slot] end),
  ids = array_type("ids", function(batch, slot) return batch.ids[slot] end),
  busy = array_type("busy", function(batch, slot) return batch.busy[slot] ~= 0 end),
  alive = array_type("alive", function(batch, slot) return batch.alive[slot] ~= 0 end),
  pulled = array_type("pulled", function(batch, slot) return batch.pulled[slot] end),
  started = array_type("started", function(batch, slot) return batch.started[slot] end),
  durations = array_type("durations", function(batch, slot) return batch.durations[slot] end),
  averages = array_type("averages", function(batch, slot) return batch.averages[slot] end),
}

-- --- helpers ---

---Returns the smallest number of completed steps among the seen workers; infinite when no worker is seen.
---@return number
function View:min() return self._lowest end

---Returns the greatest number of completed steps among the seen workers; minus infinity when no worker is seen.
---@return number
function View:max()
  if self._batch.aggregates ~= 0 then unsampled("max()") end
  return self._highest
end

---Counts the seen workers that have completed at least `step` steps.
---@param step number
---@return number
function View:passed(step)
  if self._batch.live == 0 then stale() end
  if self._batch.aggregates ~= 0 then unsampled("passed()") end
  return api.seen_passed(self._batch, self._seen, step)
end

---Counts the seen workers that have completed fewer than `view.step - s` steps, more than `s` steps behind.
---@param s number
---@return number
function View:behind(s)
  if self._batch.live == 0 then stale() end
  if self._batch.aggregates ~= 0 then unsampled("behind()") end
  return self.n - api.seen_passed(self._batch, self._seen, self.step - s)
end

---Returns the smallest number of steps that at least the fraction `q` of the seen workers has not exceeded; infinite
---when no worker is seen.
---@param q number 0 .. 1
---@return number
function View:quantile(q)
  if self._batch.live == 0 then stale() end
  if self._batch.aggregates ~= 0 then unsampled("quantile()") end
  return api.seen_quantile(self._batch, self._seen, q)
end

local methods = { min = View.min, max = View.max, passed = View.passed, behind = View.behind, quantile = View.quantile }

-- --- fields made at their first use ---

local function memory_of(view)
  local context = view._context
  local memory = context.memories[view.id]
  if not memory then
    memory = {}
    context.memories[view.id] = memory
    context.remembers = true
  end
  return memory
end

local function rng_of(view)
  local context = view._context
  local rng = context.rngs[view.id]
  if not rng then
    rng = new_rng(context.seed, view.id)
    context.rngs[view.id] = rng
  end
  return rng
end

local function own(view, array)
  local batch = view._batch
  if batch.live == 0 then stale() end
  return batch[array][batch.slot]
end

local function known_fields()
  local names = {
    "memory", "rng", "shared", "duration", "average", "step", "id", "n", "population", "now", "waited", "buffered",
  }
  for name in pairs(arrays) do names[#names + 1] = name end
  for name in pairs(methods) do names[#names + 1] = name .. "()" end
  table.sort(names)
  return table.concat(names, ", ")
end

local metatable = {
  __index = function(view, key)
    if key == "memory" then return memory_of(view) end
    if key == "rng" then return rng_of(view) end
    if key == "duration" then return own(view, "durations") end
    if key == "average" then return own(view, "averages") end
    error(("a view has no field '%s' (it has %s)"):format(tostring(key), known_fields()), 2)
  end,
  __newindex = function(_, key)
    error(("a view has no field '%s'; a rule keeps its state in view.memory or view.shared"):format(tostring(key)), 2)
  end,
}

---Makes a view over `seen`. `context` holds the evaluator's state: seed, memories and rngs by worker id, the shared
---table.
function M.new(batch, seen, context)
  local view = {
    step = 0, id = 0, n = 0, population = 0, now = 0, waited = 0, buffered = 0, shared = context.shared,
    _batch = batch, _seen = seen, _context = context, _samples = {},
    _lowest = huge, _highest = -huge, _round = 0,
  }
  for name, make in pairs(arrays) do view[name] = make(batch, seen) end
  for name, method in pairs(methods) do view[name] = method end
  return setmetatable(view, metatable)
end

-- --- samples ---

local kinds = enum("AH_RESAMPLE_KIND", "event sticky poll")

---Makes the view that the sampling rule `rule`, which sees `view`, passes to its inner rule. The view has its own
---random stream, which depends on the number of earlier samplings of the evaluation.
local function new_sample(view, rule)
  local context = view._context
  context.samplings = context.samplings + 1
  local poll = type(rule.resample) == "table" and rule.resample.poll or nil
  local kind = poll and kinds.poll or kinds[rule.resample]
  local sample = M.new(view._batch, ffi.new("ah_seen"), context)
  local sampler = api.sampler_new(rule.beta, kind, poll or 0, context.seed, context.samplings)
  if sampler == nil then error("no memory for the samples of " .. rule.name) end
  rawset(sample, "_sampler", ffi.gc(sampler, api.sampler_free))
  view._samples[rule] = sample
  return sample
end

---Returns the view of the sampling rule `rule` over `view`.
---@param view actor.barrier.View
---@param rule actor.barrier.Rule
---@return actor.barrier.View sample
function M.open_sample(view, rule) return view._samples[rule] or new_sample(view, rule) end

---Draws the sample of the waiting worker from `view` if a draw is due. Returns whether there is a new sample (between
---two polls there is none).
---@param sample actor.barrier.View
---@param view actor.barrier.View the view that the sample was opened from
---@return boolean fresh, number recheck_seconds seconds until the next poll, else infinite
function M.draw(sample, view)
  local batch, seen = view._batch, sample._seen
  if batch.live == 0 then stale() end
  if batch.aggregates ~= 0 then unsampled("a sample inside a rule without its own sample") end
  api.sampler_sample(sample._sampler, batch, view._seen, seen)
  sample.step, sample.id, sample.waited = view.step, view.id, view.waited
  if sample._round ~= view._round then -- computes the fields common to all workers of one call
    sample._round = view._round
    sample.now, sample.population, sample.shared, sample.buffered = view.now, view.population, view.shared, view.buffered
  end
  sample.n, sample._lowest, sample._highest = seen.n, seen.lowest, seen.highest
  return seen.held == 0, seen.recheck_seconds
end

return M
