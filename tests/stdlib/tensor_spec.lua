--- Tensors: making them, views, indexing, text.
local actor = require("actor")
local codec = require("actor.codec")
local ffi = require("ffi")
local tensor = require("actor.tensor")

-- 2 x 3: 1 .. 6
local function sample(dtype)
  return tensor.new({ { 1, 2, 3 }, { 4, 5, 6 } }, { dtype = dtype })
end

test("tensors are made of nested tables, numbers, ranges and constants", function()
  local t = sample()
  equal({ t.shape, t.ndim, t.size, t.dtype, #t }, { { 2, 3 }, 2, 6, "float32", 2 })
  equal(t:totable(), { { 1, 2, 3 }, { 4, 5, 6 } })
  equal(tensor({ 1, 2 }, { dtype = "float64" }).dtype, "float64")
  equal(tensor.new(7):item(), 7)
  equal(tensor.new(7).shape, {})
  equal(tensor.new({}).shape, { 0 })
  equal(tensor.zeros({ 2, 2 }):totable(), { { 0, 0 }, { 0, 0 } })
  equal(tensor.ones(3):totable(), { 1, 1, 1 })
  equal(tensor.full({ 1, 2 }, 0.5, { dtype = "float64" }):totable(), { { 0.5, 0.5 } })
  equal(tensor.arange(3):totable(), { 0, 1, 2 })
  equal(tensor.arange(1, 2, 0.25):totable(), { 1, 1.25, 1.5, 1.75 })
  equal(tensor.arange(5, 1, -2):totable(), { 5, 3 })
  equal(tensor.arange(2, { dtype = "float64" }).dtype, "float64")
  equal(tensor.linspace(0, 1, 5):totable(), { 0, 0.25, 0.5, 0.75, 1 })
  equal(tensor.linspace(3, 9, 1):totable(), { 3 })
  equal(tensor.eye(2):totable(), { { 1, 0 }, { 0, 1 } })
  equal(tensor.zeros_like(sample("float64")).dtype, "float64")
  equal(tensor.new(sample("float64")).dtype, "float32")
end)

test("elements come from bytes and go to bytes", function()
  local t = sample("float64")
  equal(#t:bytes(), 48)
  equal(tensor.from_bytes(t:bytes(), { 2, 3 }, { dtype = "float64" }):equal(t), true)
  equal(t:transpose():bytes() == t:bytes(), false)
  equal(tensor.from_u8("\0\51\255", 3, { scale = 1 / 51, shift = -1 }):allclose(tensor.new({ -1, 0, 4 })), true)
  local buffer = ffi.new("uint8_t[2]", 7, 9)
  equal(tensor.from_u8(buffer, { 1, 2 }):totable(), { { 7, 9 } })
  equal(tensor.from_bytes("", { 0, 3 }).shape, { 0, 3 })
end)

test("random elements depend on the seed alone and have the right spread", function()
  local a, b = tensor.normal({ 100, 100 }, { seed = 5 }), tensor.normal({ 100, 100 }, { seed = 5 })
  equal(a:hash(), b:hash())
  equal(a:hash() == tensor.normal({ 100, 100 }, { seed = 6 }):hash(), false)
  near(a:mean(), 0, 0.05)
  near((a * a):mean(), 1, 0.05)
  near(tensor.normal(10000, { seed = 1, mean = 5, std = 0.1 }):mean(), 5, 0.01)
  local u = tensor.uniform(10000, { seed = 2, low = -1, high = 3, dtype = "float64" })
  near(u:mean(), 1, 0.1)
  equal({ u:min() >= -1, u:max() < 3 }, { true, true })
  local rng = tensor.random { seed = 5 }
  equal(tensor.normal({ 100, 100 }, { rng = rng }):hash(), a:hash())
  equal(tensor.normal({ 100, 100 }, { rng = rng }):hash() == a:hash(), false)
  equal(tensor.uniform(3):hash() == tensor.uniform(3):hash(), false)
end)

test("elements are read and written by position, from 1 or from the end", function()
  local t = sample()
  equal({ t:get(1, 1), t:get(2, 3), t:get(-1, -1), t[2][1], t[-1][-2] }, { 1, 6, 6, 4, 5 })
  t:set(1, 2, 20)
  t[2][3] = 60
  equal(t:totable(), { { 1, 20, 3 }, { 4, 5, 60 } })
  local cube = tensor.arange(24):view(2, 3, 4)
  equal({ cube:get(2, 3, 4), cube:get(1, 2, 1), cube[2][3][4] }, { 23, 4, 23 })
  cube:set(2, 3, 4, -1)
  equal(cube:get(2, 3, 4), -1)
  local scalar = tensor.new(3)
  scalar:set(4)
  equal(scalar:get(), 4)
end)

test("views share elements with their tensor", function()
  local t = tensor.arange(24):view(4, 6)
  local rows = t:slice(1, 2, 3)
  equal(rows.shape, { 2, 6 })
  rows:fill_(-1)
  equal(t:sum(), 0 + 1 + 2 + 3 + 4 + 5 - 12 + 18 + 19 + 20 + 21 + 22 + 23)
  equal(t:slice(2, -2).shape, { 4, 2 })
  equal(t:slice(2, 1, 6, 4):totable()[1], { 0, 4 })
  equal(t:slice(1, 5, 4).shape, { 0, 6 })
  equal(t:slice(1, 5, 4):slice(2, 3, 4).shape, { 0, 2 })
  equal(t:narrow(1, 4, 1):totable(), { { 18, 19, 20, 21, 22, 23 } })
  equal(t:select(2, 3):totable(), { 2, -1, -1, 20 })
  t:transpose():set(1, 4, 99)
  equal(t:get(4, 1), 99)
  equal(t:transpose():is_contiguous(), false)
  equal(t:transpose():contiguous():is_contiguous(), true)
  equal(t:transpose():clone():totable(), t:transpose():totable())
  equal(t:view(-1).shape, { 24 })
  equal(t:view({ 2, -1, 3 }).shape, { 2, 4, 3 })
  equal(t:transpose():reshape(24):get(2), -1)
  equal(t:flatten().shape, { 24 })
  equal(tensor.zeros({ 2, 3, 4 }):transpose(1, 3).shape, { 4, 3, 2 })
  equal(t:unsqueeze(1).shape, { 1, 4, 6 })
  equal(t:unsqueeze(-1).shape, { 4, 6, 1 })
  equal(t:unsqueeze(2):squeeze(2).shape, { 4, 6 })
  equal(tensor.zeros({ 1, 3, 1 }):squeeze().shape, { 3 })
end)

test("a table of ranges indexes every dimension at once", function()
  local t = tensor.arange(24):view(4, 6)
  equal(t[{ 2, 3 }]:item(), 8)
  equal(t[{ {}, 1 }]:totable(), { 0, 6, 12, 18 })
  equal(t[{ { 2, 3 }, { 1, 6, 3 } }]:totable(), { { 6, 9 }, { 12, 15 } })
  equal(t[{ { -1 } }].shape, { 1, 6 })
  t[{ {}, { 2, 3 } }] = 0
  equal(t[2]:totable(), { 6, 0, 0, 9, 10, 11 })
  t[1] = tensor.ones(6)
  equal(t[1]:sum(), 6)
  t[{ {}, 4 }] = tensor.new({ 1, 2, 3, 4 })
  equal(t:select(2, 4):totable(), { 1, 2, 3, 4 })
  local line = tensor.zeros(3)
  line[2] = 5
  equal(line:totable(), { 0, 5, 0 })
end)

test("the first dimension can be iterated", function()
  local seen = {}
  for i, row in sample():iter() do seen[i] = row:sum() end
  equal(seen, { 6, 15 })
  for i, x in tensor.new({ 3, 4 }):iter() do seen[i] = x end
  equal(seen, { 3, 4 })
end)

test("a view keeps the elements of a collected tensor alive", function()
  local views = {}
  for i = 1, 50 do views[i] = tensor.full({ 100, 100 }, i):slice(1, 50, 60) end
  collectgarbage()
  collectgarbage()
  for i = 1, 50 do equal(views[i]:mean(), i) end
end)

test("types convert and values copy with stretching", function()
  local t = sample():to("float64")
  equal({ t.dtype, t:sum() }, { "float64", 21 })
  equal(t:to("float64") == t, true)
  local copy = t:to("float64", true)
  copy:zero_()
  equal(t:sum(), 21)
  equal(tensor.zeros({ 2, 3 }):copy_(tensor.new({ 7, 8, 9 }, { dtype = "float64" })):totable(), { { 7, 8, 9 }, { 7, 8, 9 } })
end)

test("the data pointer leads to the elements", function()
  local t = sample()
  local p = t:data()
  equal(ffi.istype("float*", p), true)
  p[4] = 50
  equal(t:get(2, 2), 50)
  equal(ffi.istype("double*", sample("float64"):data()), true)
  raises(function() t:transpose():data() end, "tensor_spec.lua:%d+: bad argument 't' to tensor.data: expected a contiguous")
end)

test("hashes tell contents, shapes and types apart", function()
  local t = sample()
  equal(t:hash(), sample():hash())
  equal(#t:hash(), 16)
  equal(t:transpose():contiguous():hash(), t:transpose():hash())
  equal(t:hash() == t:view(3, 2):hash(), false)
  equal(t:hash() == sample("float64"):hash(), false)
  equal(tensor.zeros({ 0, 3 }):hash() == tensor.zeros({ 3, 0 }):hash(), false)
  equal(t:hash(), "c0ff1e07d581b9f5")
end)

test("the codec carries tensors beside the bytes and hashes them", function()
  local value = { w = sample(), n = { 1, sample("float64") } }
  local bytes, tensors = codec.encode(value)
  equal(#tensors, 2)
  local copy = codec.decode(bytes, tensors)
  equal(copy.w:equal(value.w), true)
  equal(copy.n[2].dtype, "float64")
  equal(actor.hash(value), actor.hash({ w = sample(), n = { 1, sample("float64") } }))
  value.w:set(1, 1, 9)
  equal(actor.hash(value) == actor.hash({ w = sample(), n = { 1, sample("float64") } }), false)
  raises(function() codec.encode({ p = ffi.cast("ah_tensor*", sample()) }) end, "value.p is cdata of a foreign type")
end)

test("text is aligned and shortened as NumPy's", function()
  equal(tostring(sample()), "tensor([[1., 2., 3.],\n        [4., 5., 6.]], float32)")
  equal(tostring(tensor.new({ 0.5, -10 }, { dtype = "float64" })), "tensor([  0.5000, -10.0000], float64)")
  equal(tostring(tensor.new({ 1e-7, 1 })), "tensor([1.0000e-07, 1.0000e+00], float32)")
  equal(tostring(tensor.new({ 0 / 0, 1 / 0, -1 / 0 })), "tensor([ nan,  inf, -inf], float32)")
  equal(tostring(tensor.new(2.5)), "tensor(2.5000, float32)")
  equal(tostring(tensor.zeros({ 0, 2 })), "tensor([], shape=(0, 2), float32)")
  equal(tostring(tensor.arange(8):view(2, 2, 2)),
    "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]], float32)")
  local long = tostring(tensor.arange(2000))
  equal(long, "tensor([   0.,    1.,    2., ..., 1997., 1998., 1999.], shape=(2000), float32)")
  equal(#tostring(tensor.zeros({ 500, 500 })) < 500, true)
end)

test("wrong calls say what was wanted and given, at the caller's line", function()
  local t = sample()
  local function wrong(pattern, body) raises(body, "^tensor_spec.lua:%d+: .*" .. pattern) end
  wrong("bad argument 'shape' to tensor.zeros: expected a table of sizes or one size, got string", function() tensor.zeros("3") end)
  wrong("bad argument 'shape%[2%]' to tensor.zeros: expected a whole number of at least 0, got %-1", function() tensor.zeros({ 2, -1 }) end)
  wrong("has too many elements", function() tensor.zeros({ 2 ^ 30, 2 ^ 30 }) end)
  wrong("at most 8 dimensions, got 9", function() tensor.zeros({ 1, 1, 1, 1, 1, 1, 1, 1, 1 }) end)
  wrong("bad argument 'dtype' to tensor.ones: expected one of 'float32', 'float64', got 'int'", function() tensor.ones(2, { dtype = "int" }) end)
  wrong("unknown option 'type' to tensor.ones", function() tensor.ones(2, { type = "float32" }) end)
  wrong("bad argument 'values' to tensor.new: expected a table of 2 at depth 2, got a table of 3", function() tensor.new({ { 1, 2 }, { 1, 2, 3 } }) end)
  wrong("bad argument 'values' to tensor.new: expected a number at depth 2, got string", function() tensor.new({ 1, "x" }) end)
  wrong("expected 8 bytes for float32 %(2%), got 3", function() tensor.from_bytes("abc", 2) end)
  wrong("bad argument 'i' to tensor.get: expected an integer from 1 to 2 .*, got 3", function() t:get(3, 1) end)
  wrong("bad argument 'j' to tensor.get: expected an integer from 1 to 3 .*, got 0", function() t:get(1, 0) end)
  wrong("expected 2 positions for shape %(2, 3%), got 1", function() t:get(1) end)
  wrong("bad argument 'value' to tensor.set: expected number, got string", function() t:set(1, 1, "x") end)
  wrong("bad argument 'dim' to tensor.slice: expected an integer from 1 to 2 .*, got 3", function() t:slice(3, 1, 1) end)
  wrong("bad argument 'to' to tensor.slice: expected an integer from %-3 to 3, got 4", function() t:slice(2, 1, 4) end)
  wrong("bad argument 'length' to tensor.narrow: expected an integer from 0 to 1, got 2", function() t:narrow(1, 2, 2) end)
  wrong("%(4, %-1%) has no room for the 6 elements of %(2, 3%)", function() t:view(4, -1) end)
  wrong("%(4, 2%) does not have the 6 elements of %(2, 3%)", function() t:view(4, 2) end)
  wrong("expected a contiguous tensor", function() t:transpose():view(6) end)
  wrong("dimension 1 of %(2, 3%) is not 1", function() t:squeeze(1) end)
  wrong("there is no tensor:lenght", function() return t.lenght end)
  wrong("a tensor has no 'name' to set", function() t.name = 1 end)
  wrong("bad index of a tensor: 3 entries for shape %(2, 3%)", function() return t[{ 1, 1, 1 }] end)
  wrong("tensor.copy_: shapes %(2, 3%) and %(2%) do not fit", function() t:copy_(tensor.zeros(2)) end)
  wrong("expected one element, got shape %(2, 3%)", function() t:item() end)
  wrong("tensors have no order", function() return t < sample() end)
  wrong("bad argument 'rng' to tensor.normal: expected a generator of tensor.random or actor.rng", function() tensor.normal(2, { rng = t }) end)
  wrong("bad argument 'threads' to tensor.set_threads: expected an integer from 1 to 256, got 0", function() tensor.set_threads(0) end)
end)

test("a random chain of views reads what plain arithmetic on positions says", function()
  local rng = actor.rng(scratch_seed)
  for _ = 1, 200 do
    local t = tensor.arange(120):view(4, 5, 6)
    local map = {}  -- position in the view's row-major order -> element
    for i = 0, 119 do map[i + 1] = i end
    local reference, view = { shape = { 4, 5, 6 }, map = map }, t
    for _ = 1, 3 do
      local d = rng:int(view.ndim)
      local n = reference.shape[d]
      local from = rng:int(n)
      local to = rng:int(from, n)
      view = view:slice(d, from, to)
      local inner = 1
      for k = d + 1, #reference.shape do inner = inner * reference.shape[k] end
      local kept = {}
      for p = 0, #reference.map - 1 do
        local at = math.floor(p / inner) % n + 1
        if at >= from and at <= to then kept[#kept + 1] = reference.map[p + 1] end
      end
      reference.map = kept
      reference.shape[d] = to - from + 1
    end
    equal(view.shape, reference.shape)
    equal(view:flatten():totable(), reference.map)
  end
end)
