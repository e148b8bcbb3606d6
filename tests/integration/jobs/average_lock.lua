-- A round may change the model between gradient and update only with lock = "gradient".
-- case: {gradient,step} at: threads isolate
local actor = require "actor"
local expect = require "expect"

local lock = ...
local x = actor.tensor.full({ 1000 }, actor.rank, { dtype = "float64" })
local handle = actor.average.start(x, { sync_interval_ms = 0, lock = lock })
local between, steps = 0, 0
local function gradient()
  steps = steps + 1
  x:add_(0.25) -- so that there is always something to average
  local till = actor.now() + 1e-4
  while actor.now() < till do end
  return x:clone(), "second"
end
local function update(seen, second)
  assert(second == "second")
  if x:get(1) ~= seen:get(1) then between = between + 1 end
  assert(x:max() - x:min() < 1e-9, "half a change is seen") -- the order of a sum differs between elements
  x:add_(0.25)
  return steps
end
while handle:stats().rounds < 20 or (lock == "gradient" and between == 0) do
  assert(handle:step(gradient, update) == steps)
end
assert(handle:stats().steps == steps)
if lock == "gradient" then
  expect.raises(function() handle:step(gradient) end, "it takes two functions")
end
handle:abort()
local all, made = actor.collective.allgather(x, { list = true }), 0
for r = 1, all.n do assert(all[r]:get(1) == x:get(1)) end
for _, count in ipairs(actor.collective.allgather(actor.tensor { steps }):totable()) do made = made + count end
local due = (actor.size - 1) / 2 + 0.5 * made / actor.size
assert(math.abs(x:get(1) - due) < 1e-6 * due, "the sum is not kept")
assert((between > 0) == (lock == "gradient"), between)
