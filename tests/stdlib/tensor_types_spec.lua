--- Tensors: element types, their values, and mixed types in operations.
local tensor = require("actor.tensor")

local types = { "float32", "float64", "int32", "int64", "uint8", "bool" }
local numbers = { "float32", "float64", "int32", "int64", "uint8" }
local whole = { "int32", "int64", "uint8" }

local function typed(dtype, ...) return tensor.new({ ... }, { dtype = dtype }) end
local function wrong(pattern, body) raises(body, "^tensor_types_spec.lua:%d+: .*" .. pattern) end

test("each type stores its values exactly", function()
  local values = {
    float32 = { 0.5, -1 / 0 }, float64 = { 0.1, 1e300 }, int32 = { -2 ^ 31, 2 ^ 31 - 1 }, int64 = { -2 ^ 53, 2 ^ 53 },
    uint8 = { 0, 255 }, bool = { true, false },
  }
  for _, dtype in ipairs(types) do
    local v = values[dtype]
    local t = tensor.new(v, { dtype = dtype })
    equal({ t.dtype, t:totable() }, { dtype, v })
    equal({ t[1], t:get(2), t[{ { 2 } }]:item() }, { v[1], v[2], v[2] })
    t:set(1, v[2])
    t[2] = v[1]
    equal(t:totable(), { v[2], v[1] })
    equal(tensor.full({ 2, 2 }, v[1], { dtype = dtype }):fill_(v[2]):totable(), { { v[2], v[2] }, { v[2], v[2] } })
    equal(tensor.from_bytes(t:bytes(), 2, { dtype = dtype }):equal(t), true)
    equal(t:clone():hash(), t:hash())
    equal(tensor.zeros({ 3, 0 }, { dtype = dtype }):totable(), { {}, {}, {} })
    equal(tensor.ones({}, { dtype = dtype }):item(), dtype == "bool" or 1)
    equal(tensor.zeros_like(t).dtype, dtype)
    equal(tensor.empty(3, { dtype = dtype }).shape, { 3 })
  end
end)

test("without a given type the values determine the type", function()
  equal(tensor.new({ 1, 2 }).dtype, "float32")
  equal(tensor.new({ { true, false } }).dtype, "bool")
  equal(tensor.new(true).dtype, "bool")
  equal(tensor.new({ 1LL, 2 }).dtype, "int64")
  equal(tensor.full(2, false):totable(), { false, false })
  equal(tensor.new({}).dtype, "float32")
end)

test("int64 beyond 2^53 is LuaJIT's int64_t", function()
  local big = 9007199254740993LL
  local t = typed("int64", big, -big, 2 ^ 53)
  equal(t:get(1) == big, true)
  equal(type(t:get(1)), "cdata")
  equal(t:get(3), 2 ^ 53)
  equal(t:sum(), 2 ^ 53)
  equal((t + big):get(1) == 2 * big, true)
  equal((big + t):get(2), 0)
  equal(t:eq(big):totable(), { true, false, false })
  equal(t:max() == big, true)
  t:fill_(big)
  equal(t:get(2) == big, true)
  equal(typed("int64", 1ULL):get(1), 1)
  wrong("expected a whole number that int64 holds", function() t:set(1, 0xffffffffffffffffULL) end)
  wrong("expected a whole number that int64 holds", function() t:set(1, 2 ^ 63) end)
end)

test("values outside a type's range are errors", function()
  for dtype, bad in pairs { int32 = { 1.5, 2 ^ 31, -2 ^ 31 - 1, 0 / 0, true, "1" }, uint8 = { -1, 256, 0.5, 256LL },
    int64 = { 2 ^ 63, 1 / 0 }, bool = { 1, 0, 1LL }, float32 = { true, "1" } } do
    local t = tensor.zeros(2, { dtype = dtype })
    for _, value in ipairs(bad) do
      wrong("bad argument 'value' to tensor.set", function() t:set(1, value) end)
      wrong("bad argument 'value' to tensor.fill_", function() t:fill_(value) end)
      wrong("bad argument 'values' to tensor.new", function() tensor.new({ value }, { dtype = dtype }) end)
    end
  end
  wrong("bad argument 'value' to tensor.set: expected a whole number that uint8 holds, got", function()
    tensor.zeros(1, { dtype = "uint8" }):set(1, 256)
  end)
  wrong("bad argument 'stop' to tensor.arange: expected a whole number that uint8 holds, got 299", function()
    tensor.arange(300, { dtype = "uint8" })
  end)
  wrong("bad argument 'step' to tensor.arange: expected an integer", function()
    tensor.arange(0, 1, 0.1, { dtype = "int32" })
  end)
  equal(tensor.arange(3, 0, -1, { dtype = "uint8" }):totable(), { 3, 2, 1 })
  equal(tensor.arange(0, { dtype = "int64" }).shape, { 0 })
  wrong("bad argument 'dtype' to tensor.linspace", function() tensor.linspace(0, 1, 3, { dtype = "int32" }) end)
  wrong("bad argument 'dtype' to tensor.zeros", function() tensor.zeros(1, { dtype = "int16" }) end)
  wrong("bad argument 'dtype' to tensor.uniform", function() tensor.uniform(1, { dtype = "int32" }) end)
end)

test("every type is converted to every other", function()
  for _, from in ipairs(types) do
    local t = from == "bool" and tensor.new { { true, false, true }, { false, true, false } }
      or tensor.new({ { 1, 0, 1 }, { 0, 1, 0 } }, { dtype = from })
    for _, to in ipairs(types) do
      local yes, no = to == "bool" or 1, to ~= "bool" and 0
      for _, view in ipairs { t, t:transpose():contiguous():transpose() } do
        local got = view:to(to)
        equal({ got.dtype, got:totable() }, { to, { { yes, no, yes }, { no, yes, no } } })
        equal(tensor.zeros({ 2, 3 }, { dtype = to }):copy_(view):equal(got), true)
      end
      equal(t:slice(2, 1, 3, 2):to(to):totable(), { { yes, yes }, { no, no } })
      equal(t:transpose():to(to):totable(), { { yes, no }, { no, yes }, { yes, no } })
      equal(t:select(1, 1):narrow(1, 1, 0):to(to).shape, { 0 })
    end
  end
end)

test("conversion to whole numbers truncates, and an error names a value out of range", function()
  equal(typed("float64", 1.9, -1.9, 255.5):to("int32"):totable(), { 1, -1, 255 })
  equal(typed("float32", 255.9, -0.9):to("uint8"):totable(), { 255, 0 })
  equal(typed("float64", 2147483647.9, -2147483648.9):to("int32"):totable(), { 2147483647, -2147483648 })
  equal(typed("float32", 0.25, 0, 0 / 0):to("bool"):totable(), { true, false, true })
  wrong("tensor.to: element 2 is nan, which int32 does not hold", function() typed("float32", 1, 0 / 0):to("int32") end)
  wrong("element 1 is 256, which uint8 does not hold", function() typed("int32", 256):to("uint8") end)
  wrong("element 3 is %-1, which uint8 does not hold", function()
    tensor.new({ { 1, 2 }, { -1, 3 } }):transpose():contiguous():transpose():to("uint8")
  end)
  wrong("element 1 is 9.2233720368547758e%+18, which int64", function() typed("float64", 2 ^ 63):to("int64") end)
  wrong("tensor.copy_: element 1 is 4294967296, which int32", function()
    tensor.zeros(1, { dtype = "int32" }):copy_(typed("int64", 2 ^ 32))
  end)
  equal(typed("float64", -2 ^ 63):to("int64"):to("float64"):get(1), -2 ^ 63)
end)

test("mixed types promote to the type that represents both", function()
  local order = { "bool", "uint8", "int32", "int64", "float32" }
  local function one(dtype) return tensor.ones({ 2, 1 }, { dtype = dtype }) end
  for i, a in ipairs(order) do
    for j, b in ipairs(order) do
      local wide = order[math.max(i, j)]
      equal((one(a):transpose() * one(b)).dtype, wide)
      equal({ (one(a) + one(b)).dtype, one(a):maximum(one(b)).dtype }, { wide, wide })
      equal((one(a) / one(b)).dtype, "float32")
      equal(one(a):le(one(b)):totable(), { { true }, { true } })
      equal(tensor.where(one("bool"), one(a), one(b)).dtype, wide)
      equal(tensor.concat({ one(a), one(b) }).dtype, wide)
    end
    if a ~= "float32" then equal((one(a) + one("float64")).dtype, "float64") end
    equal({ (one(a) * 2).dtype, (one(a) * 0.5).dtype }, { a == "bool" and "int64" or a, "float32" })
  end
  wrong("tensor.add: float32 and float64 mixed; convert one", function() return one("float32") + one("float64") end)
  wrong("tensor.where: float32 and float64 mixed", function() one("bool"):where(one("float32"), one("float64")) end)
end)

test("whole numbers wrap, and divide as Lua's numbers do", function()
  equal((typed("int32", 2 ^ 31 - 1) + 1):get(1), -2 ^ 31)
  equal((typed("uint8", 0, 200) - 1):totable(), { 255, 199 })
  equal((typed("uint8", 200) * 2):get(1), 144)
  equal((-typed("int32", -2 ^ 31)):get(1), -2 ^ 31)
  equal(typed("int32", -2 ^ 31):abs():get(1), -2 ^ 31)
  equal((typed("int32", 3) ^ 21):get(1), tonumber(bit.tobit(3486784401 * 3 % 2 ^ 32)))
  for _, dtype in ipairs(numbers) do
    if dtype ~= "uint8" then
      local a, b = typed(dtype, 7, -7, 7, -7, 6), typed(dtype, 3, 3, -3, -3, 3)
      equal((a % b):totable(), { 1, 2, -2, -1, 0 })
      equal(a:floor_div(b):totable(), { 2, -3, -3, 2, 2 })
    end
    equal((typed(dtype, 7, 1) % 3):totable(), { 1, 1 })
    equal((typed(dtype, 7):floor_div_(2)):get(1), 3)
  end
  equal(typed("int32", -2 ^ 31):floor_div(-1):get(1), -2 ^ 31)
  equal((typed("int64", -2 ^ 53) % -1):get(1), 0)
  wrong("tensor.mod: whole numbers cannot be divided by 0: element 2 of the divisor is 0", function()
    return typed("int32", 1, 2) % typed("int32", 1, 0)
  end)
  wrong("tensor.floor_div_: whole numbers cannot be divided by 0", function() typed("uint8", 1):floor_div_(0) end)
  wrong("no power below 0: element 1 of the exponent is %-1; ", function()
    return typed("int32", 2) ^ typed("int32", -1)
  end)
  equal((typed("int32", 2, 4) ^ -1):totable(), { 0.5, 0.25 })
  equal((typed("int32", 2) ^ -2):get(1), 0.25)
  wrong("tensor.add: 300 is no uint8; convert the tensor with t:to%(dtype%) first", function()
    return typed("uint8", 1) + 300
  end)
  equal(typed("uint8", 1, 2):lt(300):totable(), { true, true })
  equal(typed("uint8", 1, 2):gt(1.5):totable(), { false, true })
  equal(typed("int32", 1):lt(1 / 0):totable(), { true })
end)

test("an in-place operation keeps its tensor's type or fails", function()
  equal(typed("int32", 1, 2):add_(typed("uint8", 3, 4)):totable(), { 4, 6 })
  equal(typed("float32", 1):add_(typed("int64", 3)):totable(), { 4 })
  wrong("tensor.add_: a tensor %(1%) int32 cannot take the result", function() typed("int32", 1):add_(0.5) end)
  wrong("tensor.add_: a tensor %(1%) int32 cannot take", function() typed("int32", 1):add_(typed("int64", 1)) end)
  wrong("tensor.div_: a tensor %(1%) int32 cannot take", function() typed("int32", 1):div_(2) end)
  wrong("tensor.sqrt_: a tensor %(1%) int32 cannot take", function() typed("int32", 1):sqrt_() end)
  wrong("'out' to tensor.lt: a tensor %(1%) float32 cannot take", function() typed("float32", 1):lt(2, tensor.zeros(1)) end)
  equal(typed("float32", 1, 3):lt(2, tensor.full(2, false)):totable(), { true, false })
end)

test("truth values are combined, counted and compared, and cannot be subtracted", function()
  local a, b = tensor.new { true, true, false, false }, tensor.new { true, false, true, false }
  equal((a + b):totable(), { true, true, true, false })
  equal((a * b):totable(), { true, false, false, false })
  equal(a:maximum(b):equal(a:logical_or(b)), true)
  equal(a:logical_xor(b):totable(), { false, true, true, false })
  equal(a:logical_and(true):equal(a), true)
  equal(a:logical_not():totable(), { false, false, true, true })
  equal(a:eq(true):equal(a), true)
  equal({ a:sum(), a:mean(), a:any(), a:all(), a:count_nonzero(), a:max(), a:min() }, { 2, 0.5, true, false, 2, true, false })
  equal({ a:narrow(1, 1, 0):any(), a:narrow(1, 1, 0):all() }, { false, true })
  equal((a * 3):totable(), { 3, 3, 0, 0 })
  equal((tensor.new { 1, 2, 3, 4 } * a):totable(), { 1, 2, 0, 0 })
  for _, op in ipairs { "sub", "mod", "floor_div", "pow" } do
    wrong("tensor." .. op .. ": it does not take a tensor of bool; convert it", function() a[op](a, b) end)
  end
  wrong("tensor.neg: it does not take a tensor of bool", function() return -a end)
end)

test("every byte other than 0 is true, whatever its source", function()
  local t = tensor.from_bytes("\2\0\255", 3, { dtype = "bool" })
  equal(t:totable(), { true, false, true })
  equal({ t:sum(), t:eq(true):sum(), t:to("int32"):sum() }, { 2, 2, 2 })
end)

test("reductions of whole numbers are exact", function()
  for _, dtype in ipairs(whole) do
    local t = tensor.new({ { 1, 2, 3 }, { 4, 50, 6 } }, { dtype = dtype })
    for _, view in ipairs { t, t:transpose():contiguous():transpose() } do
      equal({ view:sum(), view:prod(), view:max(), view:min(), view:mean() }, { 66, 7200, 50, 1, 11 })
      equal({ view:sum(1).dtype, view:max(1).dtype, view:mean(2).dtype }, { "int64", dtype, "float32" })
      equal(view:sum(1):totable(), { 5, 52, 9 })
      equal(view:sum(2):totable(), { 6, 60 })
      equal(view:prod(2):totable(), { 6, 1200 })
      equal(view:max(2, true):totable(), { { 3 }, { 50 } })
      equal(view:min(1):totable(), { 1, 2, 3 })
      equal(view:mean(2):totable(), { 2, 20 })
      equal({ view:argmax(), view:argmin() }, { 5, 1 })
      equal(view:argmax(1):totable(), { 2, 2, 2 })
      equal(view:argmin(2).dtype, "int64")
      near(view:norm(), math.sqrt(2566), 1e-5)
      equal(view:cumsum(2):totable(), { { 1, 3, 6 }, { 4, 54, 60 } })
    end
    equal(tensor.zeros({ 0, 2 }, { dtype = dtype }):sum(1):totable(), { 0, 0 })
    equal(tensor.zeros({ 0 }, { dtype = dtype }):prod(), 1)
    wrong("dimension 1 of %(0, 2%) is empty", function() tensor.zeros({ 0, 2 }, { dtype = dtype }):max(1) end)
  end
  equal(tensor.full(3, 2 ^ 31 - 1, { dtype = "int32" }):sum(), 3 * (2 ^ 31 - 1))
  equal(tensor.full(3, 2 ^ 31 - 1, { dtype = "int32" }):mean(), 2 ^ 31 - 1)
end)

test("the error of an operation for floats names the given type", function()
  local i = tensor.ones({ 2, 2 }, { dtype = "int32" })
  wrong("tensor.softmax: it does not take a tensor of int32; convert it with t:to%('float32'%)", function() i:softmax() end)
  wrong("tensor.matmul: it does not take a tensor of int32", function() i:matmul(i) end)
  wrong("tensor.axpy_: it does not take a tensor of int32", function() i:axpy_(1, i) end)
  wrong("tensor.nearest: it does not take a tensor of int32", function() i:nearest(i) end)
  equal(tensor.ones({ 2, 2 }):axpy_(2, i):totable(), { { 3, 3 }, { 3, 3 } })
  equal(i:sqrt().dtype, "float32")
  equal(i:is_finite(), true)
end)

test("positions may be of every type but bool", function()
  for _, dtype in ipairs(numbers) do
    local index = typed(dtype, 3, 1)
    equal(tensor.new({ 10, 20, 30 }):take(index):totable(), { 30, 10 })
    for _, of in ipairs(numbers) do
      equal(tensor.zeros(3, { dtype = of }):index_add_(index, tensor.ones(2, { dtype = of })):totable(), { 1, 0, 1 })
    end
    wrong("expected whole numbers from 1 to 3, got 4 at position 2", function() tensor.zeros(3):take(typed(dtype, 1, 4)) end)
    wrong("expected whole numbers from 1 to 3, got 0 at position 1", function() tensor.zeros(3):take(typed(dtype, 0)) end)
  end
  wrong("tensor.take: expected positions, got a tensor of bool", function() tensor.zeros(3):take(tensor.new { true }) end)
end)

test("the codec encodes every type", function()
  local codec = require("actor.codec")
  for _, dtype in ipairs(types) do
    local t = tensor.ones({ 2, 3 }, { dtype = dtype })
    equal(codec.hash(t), codec.hash(t:clone()))
  end
end)
