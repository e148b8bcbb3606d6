--- Lua values as bytes and back, and their hashes.
local actor = require("actor")
local codec = require("actor.codec")
local ffi = require("ffi")

ffi.cdef("struct spec_tensor { int id; };")
local Tensor = ffi.metatype("struct spec_tensor", {})
local function is_tensor(value) return type(value) == "cdata" and ffi.istype(Tensor, value) end
codec.register_tensor({ is = is_tensor, hash = function(t) return tostring(t.id) end })

local function through(value)
  local bytes, tensors = codec.encode(value)
  return codec.decode(bytes, tensors), bytes
end

test("plain values survive a round trip", function()
  for _, value in ipairs({ 0, -1, 1.5, 2 ^ 31, -2 ^ 31, 2 ^ 53, 1 / 0, -1 / 0, 1e-310, "", "text", ("x"):rep(10000), "\0\255", true, false }) do
    equal(through(value), value)
  end
  equal(through(nil), nil)
  equal(1 / through(-0.0), -1 / 0)
  equal(through(0 / 0), 0 / 0)
end)

test("tables of every kind survive a round trip", function()
  local long, sparse, keyed, mixed = {}, {}, {}, {}
  for i = 1, 500 do
    long[i] = i
    sparse[i * 7] = tostring(i)
    keyed["key" .. i] = { i, tostring(i) }
    mixed[i], mixed["k" .. i] = i, -i
  end
  local late = {}
  for i = 10, 1, -1 do late[i] = i end
  for _, value in ipairs({
    {}, { {} }, { 1, 2, 3 }, { [0] = 0, 1, 2 }, { 1, nil, 3 }, { a = { b = { c = 1 } } }, { [true] = 1, [false] = 2, [-1.5] = 3 },
    long, sparse, keyed, mixed, late,
  }) do
    equal(through(value), value)
  end
end)

test("random tables survive a round trip", function()
  local rng = actor.rng(scratch_seed)
  local function random_value(depth)
    local kind = rng:below(depth > 4 and 4 or 6)
    if kind == 0 then return rng:int(-1000, 1000) end
    if kind == 1 then return rng:normal() end
    if kind == 2 then return ("s"):rep(rng:below(40)) end
    if kind == 3 then return rng:below(2) == 1 end
    local t = {}
    for i = 1, rng:below(8) do
      local key = kind == 4 and i or "k" .. rng:below(1000)
      t[key] = random_value(depth + 1)
    end
    return t
  end
  for _ = 1, 300 do
    local value = random_value(0)
    local copy = through(value)
    equal(copy, value)
    equal(codec.hash(copy), codec.hash(value))
  end
end)

test("64-bit integers survive a round trip", function()
  local copy = through({ 1LL, -1LL, 0xffffffffffffffffULL, x = ffi.new("int64_t", 2 ^ 40) })
  equal(copy[1], 1LL)
  equal(copy[2], -1LL)
  equal(copy[3], 0xffffffffffffffffULL)
  equal(ffi.istype("uint64_t", copy[3]) and ffi.istype("int64_t", copy[2]), true)
  equal(copy.x, 2LL ^ 40)
end)

test("a table with two references is written twice", function()
  local shared = { 1 }
  local copy = through({ shared, shared })
  equal(copy, { { 1 }, { 1 } })
  equal(copy[1] == copy[2], false)
end)

test("a value without an encoding is an error with its path, at the user's line", function()
  local function refused(value, pattern) raises(function() codec.encode(value) end, pattern) end
  refused({ layers = { 1, 2, { activation = print } } }, "codec_spec.lua:%d+: value.layers%[3%].activation is a function$")
  refused(print, "value is a function")
  refused({ ["a b"] = { [true] = coroutine.create(print) } }, 'value%["a b"%]%[true%] is a thread')
  refused({ io.stdout }, "value%[1%] is a userdata")
  refused({ x = ffi.new("int[2]") }, "value.x is cdata of a foreign type")
  refused({ x = 1i }, "value.x is cdata of a foreign type")
  refused({ x = setmetatable({}, {}) }, "value.x has a metatable")
  refused({ x = { [{}] = 1 } }, "value.x has a table as a key")
  refused({ [1LL] = 1 }, "value has a cdata as a key")
end)

test("a cycle is an error that names its place", function()
  local a = { b = { { c = {} } } }
  a.b[1].c.back = a.b
  raises(function() codec.encode(a) end, "value.b%[1%].c.back is value.b again: a cycle")
  local self = {}
  self[1] = self
  raises(function() codec.encode(self) end, "value%[1%] is value again: a cycle")
  raises(function() codec.hash(self) end, "a cycle")
end)

test("a large array of plain values survives a round trip, and the check finds each other value in it", function()
  local function large(last)
    local t = {}
    for i = 1, 1000 do t[i] = { "word" .. i, i } end
    t[1000] = last
    return { list = t }
  end
  equal(through(large(true)), large(true))
  raises(function() codec.encode(large(print)) end, "value.list%[1000%] is a function")
  raises(function() codec.encode(large({ a = print })) end, "value.list%[1000%].a is a function")
  raises(function() codec.encode(large(setmetatable({}, {}))) end, "value.list%[1000%] has a metatable")
  raises(function() codec.encode(large({ [print] = 1 })) end, "value.list%[1000%] has a function as a key")
  equal(through(large(7LL)).list[1000], 7LL)
  local knot = {}
  for i = 1, 100 do knot[i] = knot end
  raises(function() codec.encode(knot) end, "value%[1%] is value again: a cycle")
end)

test("an array with a tensor in it keeps both", function()
  local t = {}
  for i = 1, 200 do t[i] = { i, ("x"):rep(i % 5) } end
  t[100] = { Tensor(9), { 1, 2, 3 } }
  local copy = through(t)
  equal(copy[100][1].id, 9)
  equal(copy[100][2], { 1, 2, 3 })
  equal(copy[200], t[200])
end)

test("nesting has a limit", function()
  local deep, inner = {}, nil
  inner = deep
  for _ = 1, 63 do
    inner[1] = {}
    inner = inner[1]
  end
  equal(through(deep), deep)
  inner[1] = {}
  raises(function() codec.encode(deep) end, "is nested too deeply %(more than 64 tables%)")
end)

test("tensors are encoded beside the bytes", function()
  local one, two = Tensor(1), Tensor(2)
  local value = { weights = one, list = { two, 5, one } }
  local bytes, tensors = codec.encode(value)
  equal(#tensors, 3)
  local copy = codec.decode(bytes, tensors)
  equal(copy.weights.id, 1)
  equal(copy.list[1].id, 2)
  equal(copy.list[2], 5)
  equal(copy.list[3].id, 1)
  local alone, list = codec.encode(two)
  equal(codec.decode(alone, list).id, 2)
  equal(select(2, codec.encode({ 1 })), nil)
end)

test("a missing tensor beside the bytes is an error", function()
  local bytes, tensors = codec.encode({ Tensor(1), Tensor(2) })
  local value, message, code = codec.decode(bytes, { tensors[1] })
  equal(value, nil)
  equal(code, "bad_data")
  matches(message, "reference to a missing tensor")
  equal(select(3, codec.decode(bytes)), "bad_data")
end)

test("a registered encoding replaces the tensor beside the bytes", function()
  codec.register_tensor({
    is = is_tensor,
    encode = function(t) return { t.id } end,
    decode = function(item) return Tensor(item[1] + 100) end,
  })
  local bytes, items = codec.encode({ Tensor(5) })
  equal(items, { { 5 } })
  equal(codec.decode(bytes, items)[1].id, 105)
  codec.register_tensor({ is = is_tensor, encode = function() error("disk full") end })
  raises(function() codec.encode({ Tensor(5) }) end, "value%[1%] makes the tensor module's 'encode' fail: .*disk full")
  codec.register_tensor({ is = is_tensor, hash = function(t) return tostring(t.id) end })
end)

test("decoding invalid bytes returns nil, a message and a code", function()
  for _, bytes in ipairs({ "", "\19", "\5\1\2\3\4\5\6\7\8", "\10\255\0\0\0\16", "\1\1", (codec.encode({ 1, 2 })):sub(1, -2) }) do
    local value, message, code = codec.decode(bytes)
    equal(value, nil)
    equal(code, "bad_data")
    matches(message, "encoded value: .* at offset %d+")
  end
  raises(function() codec.decode(5) end, "codec_spec.lua:%d+: bad argument 'bytes' to codec.decode: expected string, got number")
end)

test("hostile bytes are rejected in a compiled loop too", function()
  local good, bad = codec.encode({ a = 1, b = { 1, 2 } }), "\9\2\33a\1\33a\1"
  local refused = 0
  for i = 1, 20000 do
    if codec.decode(i % 3 == 0 and bad or good) == nil then refused = refused + 1 end
  end
  equal(refused, 6666)
end)

test("equal values have equal hashes, regardless of the order of construction", function()
  local a, b = {}, {}
  for i = 1, 100 do
    a["k" .. i], a[i] = i, { x = i }
    b["k" .. 101 - i], b[101 - i] = 101 - i, { x = 101 - i }
  end
  equal(actor.hash(a), actor.hash(b))
  b.k5 = 6
  equal(actor.hash(a) == actor.hash(b), false)
  equal(actor.hash(-0.0), actor.hash(0))
  equal(actor.hash({ 1, 2 }) == actor.hash({ 2, 1 }), false)
  equal(actor.hash({}) == actor.hash(nil), false)
  equal(actor.hash("1") == actor.hash(1), false)
  equal(actor.hash({ Tensor(1) }) == actor.hash({ Tensor(2) }), false)
  equal(actor.hash({ Tensor(1) }), actor.hash({ Tensor(1) }))
end)

test("hashes do not change between versions without notice", function()
  equal(actor.hash({ 1, 2, "x", true, a = { b = 5LL } }), "1cf50433e8ed701d")
end)
