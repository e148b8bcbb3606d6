-- Engines with tensors of integers and booleans, for element_types_test.cpp. Prints "all carried".
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local n, me = actor.size, actor.rank

local function refused(pattern, body)
  local fine, message = pcall(body)
  assert(not fine and tostring(message):find(pattern), tostring(message))
end

for _, dtype in ipairs { "float32", "float64", "int32", "int64", "uint8", "bool" } do
  local bool = dtype == "bool"
  local function filled(value) return tensor.full({ 2, 3 }, value):to(dtype) end
  local mine = filled(me + 1)
  local last = bool and true or n
  assert(co.broadcast(me == 0 and filled(n) or filled(0), 0):equal(filled(n)))
  local all = assert(co.allgather(mine))
  assert(all.dtype == dtype and all.shape[1] == 2 * n and all:get(2 * n, 3) == last)
  assert(co.alltoall(tensor.ones({ n, 2 }, { dtype = dtype })):sum() == 2 * n)
  for _, count in ipairs { 1, 3, 100000 } do
    local sum = assert(co.allreduce(tensor.ones({ count }, { dtype = dtype })))
    assert(sum.dtype == (bool and "int64" or dtype) and sum[count] == n) -- the sum of a bool is a count
    local most = assert(co.allreduce(tensor.full({ count }, me + 1):to(dtype), "max"))
    assert(most[1] == last)
  end
  local value = assert(co.allgather { inner = mine, rank = me })
  assert(value[n].inner:equal(filled(n)))
  if dtype ~= "float32" and dtype ~= "float64" then
    refused("there is no mean of " .. dtype .. "; convert the tensor", function() co.allreduce(mine, "mean") end)
    refused("filters are for float32 and float64", function() actor.filter.from("fp16"):encode(mine) end)
    refused("averages are of float32 and float64: convert", function() actor.average.start { w = mine } end)
  end
end

-- The sum of bool tensors counts the true ranks, on every path; written into a bool tensor, it is their disjunction.
local function mask(count) return tensor.arange(count):lt(me + 1) end -- element i is true on ranks from i - 1 on
for _, count in ipairs { 1, 2, 5, 100000 } do
  local counts = tensor.clamp(n - tensor.arange(count), 0, nil):to("int64")
  local async = assert(co.allreduce(mask(count), "sum", { async = true })):wait()
  assert(co.allreduce(mask(count)):equal(counts) and async:equal(counts))
  local target, input = tensor.zeros(count, { dtype = "bool" }), mask(count)
  assert(rawequal(co.allreduce(input, "sum", { out = target }), target) and target:equal(counts:gt(0)))
  assert(rawequal(co.allreduce(input, "sum", { inplace = true }), input) and input:equal(counts:gt(0)))
  assert(co.allreduce(mask(count), "max"):equal(counts:gt(0)) and co.allreduce(mask(count), "min"):equal(counts:eq(n)))
  local at_root = assert(co.reduce(mask(count), "sum", n - 1))
  assert(me ~= n - 1 or at_root:equal(counts))
  local parts = assert(co.allgather(assert(co.reduce_scatter(mask(count)))))
  assert(parts:equal(counts))
end

local big = 9007199254740993LL
assert(co.allreduce(tensor.full({ 2 }, big), "max"):get(2) == big)
assert(co.allreduce(tensor.full({ 1 }, 255, { dtype = "uint8" })):get(1) == 255 * n % 256) -- wraps around

local rows = actor.mapreduce.parallelize({ 1, 2, 3 })
  :map(function(x) return tensor.new({ x, x * x }, { dtype = "int64" }) end)
  :collect()
assert(rows[3].dtype == "int64" and rows[3]:get(2) == 9)

local keeper = actor.checkpoint.new { name = "types", steps = 1 }
local state = keeper:load() or { step = 0 }
if state.step == 0 then
  keeper:save { step = 1, flags = tensor.new { true, false }, counts = tensor.new { big, 1LL } }
else
  assert(state.flags:totable()[1] == true and state.counts:get(1) == big)
end
if me == 0 then print(state.step == 0 and "all carried" or "all read back") end
