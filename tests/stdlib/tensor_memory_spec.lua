--- Tensors: unused memory is released in time, and hot loops over tensors are compiled.
local tensor = require("actor.tensor")

test("a loop that creates tensors holds some tens of megabytes at most", function()
  local before, most = tensor.memory(), 0
  for i = 1, 500 do
    local t = tensor.zeros({ 512, 512 })
    t:set(1, 1, i)
    most = math.max(most, tensor.memory() - before)
  end
  holds(most, "<=", 40 * 2 ^ 20, ("at most %d MB were in use"):format(most / 2 ^ 20))
end)

test("garbage is proportional to the memory in use", function()
  local kept = {}
  for i = 1, 64 do kept[i] = tensor.zeros({ 512, 512 }) end
  local most = 0
  for _ = 1, 300 do
    local _ = kept[1] + kept[2]
    most = math.max(most, tensor.memory())
  end
  holds(most, "<=", 3 * 64 * 2 ^ 20, ("at most %d MB were in use"):format(most / 2 ^ 20))
  kept = nil
  collectgarbage()
  collectgarbage()
  holds(tensor.memory(), "<", 8 * 2 ^ 20)
end)

test("an allocation failure of a tensor is an error with its size", function()
  local function wrong(pattern, body) raises(body, "^tensor_memory_spec.lua:%d+: " .. pattern) end
  local n = 2 ^ 45
  wrong("tensor.zeros: no memory for 140737488355328 bytes %(shape %(35184372088832%), float32%)", function() tensor.zeros(n) end)
  wrong("tensor.full: no memory for 281474976710656 bytes %(shape %(1048576, 33554432%), int64%)", function()
    tensor.full({ 2 ^ 20, 2 ^ 25 }, 1, { dtype = "int64" })
  end)
  local wide = tensor.ones(1, { dtype = "uint8" }):broadcast_to({ n })
  wrong("tensor.add: no memory for 35184372088832 bytes", function() return wide + 1 end)
  wrong("tensor.clone: no memory for 35184372088832 bytes", function() wide:clone() end)
  wrong("tensor.to: no memory for 140737488355328 bytes %(shape", function() wide:to("int32") end)
end)

test("a tensor of more than 2^31 elements works", function()
  if spec_mode ~= "normal" then skip "once is enough for gigabytes" end
  local n = 2 ^ 31 + 5
  local t = tensor.zeros(n, { dtype = "uint8" })
  t[n] = 7
  t:narrow(1, n - 3, 3):fill_(2)
  equal({ t:sum(), t:argmax(), t:get(-2), t.size }, { 13, n, 2, n })
  equal(t:slice(1, n - 4, n):totable(), { 0, 2, 2, 2, 7 })
  equal(t:take(tensor.new({ n, n - 1 }, { dtype = "int64" })):totable(), { 7, 2 })
end)

test("give moves the block of a tensor, and copies the elements if views share the target", function()
  local base = require("actor.tensor.base")
  local function made(value) return tensor.full({ 300, 100 }, value) end
  collectgarbage()
  local before = tensor.memory()
  local target, given = made(1), made(2)
  local address = given.data_
  equal(rawequal(base.give(target, given), target), true)
  equal({ target:get(1, 1), target:get(300, 100), given.size }, { 2, 2, 0 })
  equal(target.data_ == address, true)
  equal(tensor.memory() - before, 300 * 100 * 4)

  -- A view sees the new elements, and a part of another tensor stays in its place.
  local row, place = target:narrow(1, 7, 1), target.data_
  base.give(target, made(3))
  equal({ row:get(1, 100), target.data_ == place }, { 3, true })
  base.give(row, tensor.full({ 1, 100 }, 4))
  equal({ target:get(6, 1), target:get(7, 1), target:get(7, 100), target:get(8, 1) }, { 3, 4, 4, 3 })

  -- Like copy_: broadcast, converted, and into non-contiguous places; a mismatch changes nothing.
  base.give(target, tensor.full({}, 5, { dtype = "float64" }))
  equal({ target:get(1, 1), row:get(1, 1), target.dtype }, { 5, 5, "float32" })
  base.give(target:transpose(1, 2), tensor.full({ 100, 300 }, 6))
  equal({ target:get(1, 2), target:get(300, 99) }, { 6, 6 })
  local odd = tensor.full({ 7 }, 1)
  raises(function() base.give(target, odd) end, "shape")
  equal({ odd:get(7), target:get(1, 1) }, { 1, 6 })
end)

-- Whether the loop in `body` itself became a trace, and the number of exits from compiled code in another run.
local function compiled_loop(body)
  local started, found, exits = {}, false, 0
  local function watch_traces(what, trace, func, _, parent)
    if what == "start" then started[trace] = parent == nil and func or nil end
    if what == "stop" and started[trace] == body then found = true end
  end
  local function watch_exits() exits = exits + 1 end
  -- A permanently running collector calls finalizers during recording, which aborts traces.
  local pause, speed = collectgarbage("setpause", 200), collectgarbage("setstepmul", 200)
  jit.flush()
  jit.attach(watch_traces, "trace")
  body()
  jit.attach(watch_traces)
  body()
  jit.attach(watch_exits, "texit")
  body()
  jit.attach(watch_exits)
  collectgarbage("setpause", pause)
  collectgarbage("setstepmul", speed)
  return found, exits
end

-- `body` loops 2000 times. If a part of it cannot be compiled, its loop gives no trace or exits in each iteration.
-- Collector steps cause some exits.
local max_exits = 500

local function compiled(name, body)
  test(name, function()
    if not jit.status() then return equal(body(), body()) end
    local found, exits = compiled_loop(body)
    equal(found, true, "the loop became a trace")
    holds(exits, "<", max_exits, exits .. " exits")
  end)
end

compiled("a loop over elements is compiled", function()
  local t, sum = tensor.arange(2000), 0
  for i = 1, 2000 do
    t:set(i, t:get(i) * 2)
    sum = sum + t:get(i) + t[i]
  end
  return sum
end)

compiled("a loop of operations is compiled", function()
  local a, b = tensor.ones({ 4, 4 }), tensor.ones(4)
  local total = 0
  for _ = 1, 2000 do
    local c = (a + b) * 0.5
    c:sub_(b)
    a:axpy_(0.1, c)
    total = total + c:sum()
  end
  return total
end)

compiled("a loop of products is compiled", function()
  local a, sum = tensor.eye(4), 0
  for _ = 1, 2000 do sum = sum + a:matmul(a):get(2, 2) end
  return sum
end)

test("the check for compiled loops detects a loop that is not compiled", function()
  if not jit.status() then return equal(jit.status(), false) end
  local t = tensor.arange(2000)
  local found, exits = compiled_loop(function()
    local sum = 0
    for i = 1, 2000 do
      local read = function() return t:get(i) end  -- the JIT does not compile closure creation
      sum = sum + read()
    end
    return sum
  end)
  equal(found and exits < max_exits, false)
end)
