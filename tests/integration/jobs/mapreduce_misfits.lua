-- Plans that differ between two ranks, in each possible way: the second rank gets an error with both ranks and both
-- places, even if the action is over, and the next action works. Permitted differences pass.
-- case: at: threads:2 isolate:2
local actor = require "actor"
local mr = require "actor.mapreduce"
local meeting = require "meeting"
local me = actor.rank
local either = me == 0

local function plus(a, b) return a + b end
local a, b = 1, 2
local pick = function(x, y) if either then return x end return y end
local numbers = mr.range(1, 10)
local pairs_of = numbers:map(function(x) return x % 3, x end)

-- Functions on one line that differ in a constant, an operation, a captured value, an inner function or an inner table.
local constants = pick(function(x) return x + 1 end, function(x) return x + 2 end)
local operators = pick(function(x) return x + 1 end, function(x) return x - 1 end)
local captures = pick(function(x) return x + a end, function(x) return x + b end)
local inner = pick(function() return (function() return 1 end)() end, function() return (function() return 2 end)() end)
local tables = pick(function(x) return { p = 1, q = x } end, function(x) return { p = 2, q = x } end)
local texts = pick(function() return "x" end, function() return "y" end)

local misfits = {
  count = function() mr.range(1, pick(10, 11)):count() end,
  step = function() mr.range(1, 10, pick(1, 1.01)):count() end,
  array = function() mr.parallelize({ 1, 2, pick(3, 4) }):count() end,
  nested = function() mr.parallelize({ { x = pick("a", "b") } }):count() end,
  take = function() mr.range(1, 10, 1, 1):take(pick(2, 3)) end,
  top = function() numbers:top(pick(2, 3)) end,
  top_by = function() numbers:top(2, constants) end,
  constants = function() numbers:map(constants):count() end,
  operators = function() numbers:map(operators):count() end,
  captures = function() numbers:map(captures):count() end,
  inner = function() numbers:map(inner):count() end,
  tables = function() numbers:map(tables):count() end,
  texts = function() numbers:filter(texts):count() end,
  foreach = function() numbers:foreach(constants) end,
  reduce = function() numbers:reduce(pick(function(x, y) return x + y end, function(x, y) return x * y end)) end,
  fold = function() numbers:fold(pick(0, 1), plus) end,
  comb = function() numbers:aggregate(0, plus, pick(function(x, y) return x + y end, function(x, y) return x * y end)) end,
  by_key = function() pairs_of:reduce_by_key(pick(mr.min, mr.max)):count() end,
  state = function() pairs_of:aggregate_by_key(pick(0, 5), plus, plus):count() end,
  states = function() pairs_of:aggregate_by_key(0, plus, pick(function(x, y) return x + y end, function(x, y) return x * y end)):count() end,
  sort = function() numbers:sort({ descending = either }):count() end,
  sort_by = function() numbers:sort_by(constants):count() end,
  window = function() numbers:window(pick(2, 3)):count() end,
  sample = function() numbers:sample(0.5, { seed = pick(1, 2) }):count() end,
  apply = function() mr.apply(pick(function() return { 1 } end, function() return { 2 } end), { rows = numbers }):count() end,
  union = function() numbers:union(mr.range(1, pick(2, 3))):count() end,
}

-- Files report the progress of each rank: a collective between different numbers of actions would be refused.
local function announce(what) meeting.announce(what .. "." .. me) end

local case = 0

local function at_once(fn) return pcall(fn) end

local function later(late)
  return function(fn)
    if me == late then meeting.await(case .. "." .. 1 - late) end
    return pcall(fn)
  end
end

local ways = { { "at once", at_once }, { "rank 0 later", later(0) }, { "rank 1 later", later(1) } }

-- At least one of the two ranks must be refused.
local function check_reported(name, fn)
  for _, way in ipairs(ways) do
    local where = name .. ", " .. way[1]
    case = case + 1
    local ok, message = way[2](fn)
    announce(ok and case .. "-passed" or case .. "-refused")
    announce(case)
    meeting.await(case .. "." .. 1 - me)
    if ok then
      assert(io.open(case .. "-refused." .. 1 - me), where .. ": the plans were taken for the same")
    else
      for _, part in ipairs({ "nodes disagree on what to compute: ", "rank 0", "rank 1", "mapreduce_misfits.lua:" }) do
        assert(message:find(part, 1, true), where .. ": " .. message)
      end
    end
  end
end

for name, fn in actor.pairs(misfits) do check_reported(name, fn) end
if either then mr.broadcast({ 1 }) else mr.broadcast({ 2 }) end
check_reported("broadcast", function() numbers:count() end)
