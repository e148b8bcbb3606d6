--- Tables on one node: local methods, folds, permutations. tests/integration/jobs/collective_table.lua tests the
--- collective operations.
package.loaded["actor.c.node"] = { role = "worker", id = 0, workers = function() return { 0 } end }
package.loaded["actor.c.collective"] = {}
package.loaded["actor.c.lock"] = {}
local tensor = require("actor.tensor")
local combine = require("actor.collective.combine")
local permutations = require("actor.collective.permutation")
local new = require("actor.collective.table").new

local function folded(combiner, ...)
  local fold = combine.fold(combine.new(combiner, "spec"))
  for _, value in ipairs { ... } do fold:add(1, value) end
  local values, weights = fold:finish()
  if not values then return nil, weights end
  return values[1], weights[1]
end

test("numbers fold by each combiner", function()
  equal(folded("sum", 1, 2, 4), 7)
  equal(folded("prod", 3, 2, 4), 24)
  equal(folded("min", 3, 2, 4), 2)
  equal(folded("max", 3, 2, 4), 4)
  equal({ folded("mean", 3, 2, 4) }, { 3, 3 })
  equal(folded(nil, 1, 2), 3)
  equal(folded(function(a, b) return a .. b end, "a", "b", "c"), "abc")
end)

test("tensors fold by each combiner, and the inputs stay unchanged", function()
  for combiner, expected in pairs { sum = { 9, 6 }, prod = { 24, 4 }, min = { 2, 1 }, max = { 4, 4 }, mean = { 3, 2 } } do
    local given = { tensor { 3, 1 }, tensor { 2, 1 }, tensor { 4, 4 } }
    equal(folded(combiner, unpack(given)):totable(), expected, combiner)
    equal(given[1]:totable(), { 3, 1 })
    equal(given[2]:totable(), { 2, 1 })
    equal(given[3]:totable(), { 4, 4 })
  end
end)

test("a combiner function that modifies its arguments does not modify the inputs", function()
  local a, b = tensor { 1 }, { 2, { 3 } }
  equal(folded(function(x, y) return x:add_(y) end, a, tensor { 5 }):totable(), { 6 })
  equal(a:totable(), { 1 })
  equal(folded(function(x, y) x[2][1] = y[1] return x end, b, { 7 }), { 2, { 7 } })
  equal(b, { 2, { 3 } })
end)

test("a mean counts every value once, regardless of how partial means were combined", function()
  local fold = combine.fold(combine.new("mean", "spec"))
  fold:add(1, 2, 3)
  fold:add(1, 10)
  fold:add(1, 6, 2)
  local values, weights = fold:finish()
  near(values[1], (2 * 3 + 10 + 6 * 2) / 6)
  equal(weights[1], 6)
  local single = combine.fold(combine.new("mean", "spec"))
  single:add(1, 0.1, 3)
  equal(single:finish()[1], 0.1)
end)

test("an error for mismatched values names the partition's id", function()
  local function message(combiner, ...) return select(2, folded(combiner, ...)) end
  equal(message("sum", 1, tensor { 1 }), "partition 1: number and float32[1] do not fit together")
  equal(message("sum", tensor { 1 }, tensor { 1, 2 }), "partition 1: float32[1] and float32[2] do not fit together")
  equal(message("max", "a", "b"), "partition 1: the combiner 'max' is for tensors and numbers, not for a string")
  equal(message(function() error("no", 0) end, 1, 2), "partition 1: the combiner failed: no")
  equal(message(function() end, 1, 2), "partition 1: the combiner gave nil")
end)

test("a table keeps its partitions by id, in order", function()
  local t = new()
  equal({ t:size(), t:ids(), t:get(3) }, { 0, {} })
  t:set(12, "twelve")
  t:set(-3, 4)
  t:add(7, 1)
  t:add(7, 2)
  equal(t:ids(), { -3, 7, 12 })
  local seen = {}
  for id, value in t:pairs() do
    seen[#seen + 1] = { id, value }
    if id == -3 then t:remove(7) end
    t:set(99, 1)
  end
  equal(seen, { { -3, 4 }, { 12, "twelve" } })
  equal(t:remove(12), "twelve")
  equal(t:remove(12), nil)
  equal(t:size(), 2)
  equal(t:clear():size(), 0)
end)

test("set replaces the value and the count of a mean", function()
  local t = new { combiner = "mean" }
  t:add(1, 2)
  t:add(1, 4)
  t:add(1, 9)
  equal(t:get(1), 5)
  t:set(1, 10)
  t:add(1, 20)
  equal(t:get(1), 15)
  t:remove(1)
  t:add(1, 3)
  t:add(1, 5)
  equal(t:get(1), 4)
end)

test("a copy shares nothing with its table", function()
  local t = new { combiner = "mean", name = "w" }
  t:add(1, tensor { 1, 2 })
  t:add(1, tensor { 3, 4 })
  t:set(2, { a = { 5 } })
  local other = t:copy()
  t:get(1):fill_(0)
  t:get(2).a[1] = 0
  t:remove(2)
  equal(other:get(1):totable(), { 2, 3 })
  equal(other:get(2), { a = { 5 } })
  other:add(1, tensor { 8, 9 })
  equal(other:get(1):totable(), { 4, 5 })
  equal(other.name, "w")
end)

test("errors name wrong arguments", function()
  local t = new()
  raises(function() t:set(1.5, 1) end, "collective_table_spec.lua:%d+: bad argument 'id' to table:set: expected an integer")
  raises(function() t:add("a", 1) end, "bad argument 'id' to table:add: expected an integer.*, got string")
  raises(function() t:get(0 / 0) end, "bad argument 'id' to table:get")
  raises(function() t:set(1) end, "bad argument 'value' to table:set: expected a value %(see remove%), got nil")
  raises(function() t:add(1) end, "bad argument 'value' to table:add")
  raises(function() t:set(2 ^ 54, 1) end, "bad argument 'id' to table:set")
  t:add(1, 1)
  raises(function() t:add(1, "text") end, "table:add: partition 1: number and string do not fit together")
  equal(t:get(1), 1)
  raises(function() new { combiner = "average" } end, "bad argument 'combiner' to collective.table: expected one of .*'mean'.*, got 'average'")
  raises(function() new { combine = "sum" } end, "unknown option 'combine' to collective.table")
  raises(function() new { group = {} } end, "bad argument 'group' to collective.table")
  raises(function() t:lock(1, print) end, "table:lock: the table is not shared")
end)

test("permutations are arrays, tables by rank and functions", function()
  local function of(permutation, n) return (permutations.targets(permutation, n)) end
  equal(of(nil, 4), { 1, 2, 3, 0 })
  equal(of(nil, 1), { 0 })
  equal(of({ 2, 0, 1 }, 3), { 2, 0, 1 })
  equal(of({ [0] = 2, [1] = 0, [2] = 1 }, 3), { 2, 0, 1 })
  equal(of(function(rank, n) return n - 1 - rank end, 3), { 2, 1, 0 })
  local _, next_text = permutations.targets(nil, 3)
  local _, text = permutations.targets({ 1, 2, 0 }, 3)
  equal({ next_text, text }, { "to the next", "1,2,0" })
end)

test("an invalid permutation is an error with the reason", function()
  local function why(permutation, n)
    local targets, text = permutations.targets(permutation, n)
    equal(targets, nil)
    return text
  end
  equal(why({ 0, 0, 1 }, 3), "it sends both rank 0 and rank 1 to rank 0")
  equal(why({ 0, 1 }, 3), "it has no target for rank 2")
  equal(why({}, 1), "it has no target for rank 0")
  equal(why({ 0, 1, 2 }, 2), "it has an entry [3], and there are 2 ranks")
  equal(why({ 0, 1, back = 2 }, 2), "it has an entry [back], and there are 2 ranks")
  equal(why({ 3, 0, 1 }, 3), "it sends rank 0 to 3, which is no rank from 0 to 2")
  equal(why({ 0.5, 0, 1 }, 3), "it sends rank 0 to 0.5, which is no rank from 0 to 2")
  equal(why({ "1", 0 }, 2), "it sends rank 0 to 1, which is no rank from 0 to 1")
  equal(why(function() error("no idea", 0) end, 2), "it failed for rank 0: no idea")
end)
