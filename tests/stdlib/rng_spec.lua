--- Seeded random numbers from Lua.
local actor = require("actor")
local is_compiled = require("is_compiled")

test("a seed gives the same numbers as in C++", function()
  local rng = actor.rng(7, 3)
  -- tests/bindings/vm/core_test.cpp compares whole sequences; these values pin the generator itself.
  local first = { rng:uniform(), rng:uniform(), rng:below(1000), rng:normal() }
  local again = actor.rng(7, 3)
  equal({ again:uniform(), again:uniform(), again:below(1000), again:normal() }, first)
end)

test("streams and seeds are independent, and all 64 bits of a seed count", function()
  local function first(...) return actor.rng(...):uniform() end
  equal(first(1) == first(2), false)
  equal(first(1, 0) == first(1, 1), false)
  equal(first(1), first(1ULL))
  equal(first(0xffffffffffffffffULL) == first(0xfffffffffffffffeULL), false)
end)

test("numbers stay in their ranges and have their means", function()
  local rng, n = actor.rng(scratch_seed), 20000
  local sums = { 0, 0, 0, 0, 0 }
  for _ = 1, n do
    local u, i, b = rng:uniform(2, 4), rng:int(3, 5), rng:below(3)
    assert(u >= 2 and u < 4 and i >= 3 and i <= 5 and i % 1 == 0 and b >= 0 and b <= 2)
    sums[1], sums[2], sums[3] = sums[1] + u, sums[2] + i, sums[3] + rng:normal(10, 2)
    sums[4], sums[5] = sums[4] + rng:exponential(3), sums[5] + rng:gamma(2, 1.5)
  end
  near(sums[1] / n, 3, 0.05)
  near(sums[2] / n, 4, 0.05)
  near(sums[3] / n, 10, 0.1)
  near(sums[4] / n, 3, 0.15)
  near(sums[5] / n, 3, 0.15)
end)

test("int with one bound counts from 1", function()
  local rng = actor.rng(scratch_seed)
  for _ = 1, 100 do
    local i = rng:int(2)
    assert(i == 1 or i == 2)
  end
end)

test("shuffle keeps the elements and moves them", function()
  local rng, array = actor.rng(scratch_seed), {}
  for i = 1, 100 do array[i] = i end
  equal(rng:shuffle(array), array)
  local moved, seen = 0, {}
  for i, value in ipairs(array) do
    if i ~= value then moved = moved + 1 end
    seen[value] = true
  end
  equal(#seen, 100)
  holds(moved, ">", 80)
end)

test("sample draws without replacement, each element with equal probability", function()
  local rng, hits = actor.rng(scratch_seed), {}
  for _ = 1, 4000 do
    local drawn = {}
    for _, x in ipairs(rng:sample(10, 3)) do
      assert(not drawn[x])
      drawn[x] = true
      hits[x] = (hits[x] or 0) + 1
    end
  end
  for i = 1, 10 do near(hits[i], 1200, 150) end
  equal(#rng:sample(3, 10), 3)
  equal(#rng:sample({}, 2), 0)
  for _, x in ipairs(rng:sample({ "a", "b" }, 1)) do assert(x == "a" or x == "b") end
  equal(#rng:sample(2 ^ 40, 5), 5)
end)

test("wrong arguments are errors at the user's line", function()
  local rng = actor.rng(1)
  raises(function() actor.rng("x") end, "rng_spec.lua:%d+: bad argument 'seed' to actor.rng: expected an integer")
  raises(function() actor.rng(1.5) end, "bad argument 'seed'")
  raises(function() rng:below(0) end, "bad argument 'bound' to rng:below")
  raises(function() rng:int(5, 4) end, "bad argument 'high' to rng:int")
  raises(function() rng:gamma(0) end, "bad argument 'shape' to rng:gamma: expected a number above 0")
  raises(function() rng:exponential(-1) end, "bad argument 'mean'")
  raises(function() rng:normal(0, -1) end, "bad argument 'deviation'")
  raises(function() rng:sample(-1, 1) end, "bad argument 'population'")
  raises(function() rng:shuffle(1) end, "bad argument 'array'")
end)

test("drawing numbers is compiled", function()
  if not jit.status() then skip "the JIT is off" end
  local rng = actor.rng(1)
  local function loop()
    local sum = 0
    for _ = 1, 2000 do sum = sum + rng:uniform() + rng:below(10) + rng:normal() end
    return sum
  end
  equal(is_compiled(loop), true)
end)
