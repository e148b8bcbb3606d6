--- Impossible sizes of tensors: errors that name the argument, before memory is allocated or a loop begins.
local nn = require("actor.nn")
local tensor = require("actor.tensor")

local function wrong(pattern, body) raises(body, "^tensor_sizes_spec.lua:%d+: " .. pattern) end

local v, m = tensor.ones(3), tensor.ones { 3, 3 }
local too_many = ": a tensor of shape %(.*%) has more than 2^48 elements"

test("sizes that wrap in 64 bits are errors that name the argument", function()
  wrong("bad argument 'k' to tensor.diag" .. too_many, function() v:diag(2 ^ 32) end)
  wrong("bad argument 'k' to tensor.diag" .. too_many, function() v:diag(-2 ^ 31) end)
  wrong("bad argument 'k' to tensor.diag" .. too_many, function() v:diag(1.8e19) end)
  wrong("bad argument 'count' to tensor.linspace: expected an integer from 0 to 281474976710656, got 4.611", function()
    tensor.linspace(0, 1, 2 ^ 62)
  end)
  wrong("bad argument 'bins' to tensor.histogram: expected an integer from 1 to", function() v:histogram(2 ^ 62) end)
  wrong("bad argument 'count' to tensor.chunk: expected an integer from 1 to 1048576, got 9007199254740992", function()
    v:chunk(2 ^ 53)
  end)
  wrong("bad argument 'n' to tensor.eye" .. too_many, function() tensor.eye(2 ^ 32) end)
  wrong("bad argument 'rows' to tensor.tri" .. too_many, function() tensor.tri(2 ^ 32, 2 ^ 32) end)
  wrong("bad argument 'stop' to tensor.arange" .. too_many, function() tensor.arange(0, 2 ^ 52, 1e-300) end)
  wrong("bad argument 'counts' to tensor.tile" .. too_many, function() v:tile { 2 ^ 30, 2 ^ 30 } end)
  wrong("bad argument 'counts' to tensor.repeat_interleave" .. too_many, function() v:repeat_interleave(2 ^ 62) end)
  wrong("bad argument 'counts' to tensor.repeat_interleave" .. too_many, function()
    v:repeat_interleave(tensor.new({ 2 ^ 52, 1, 1 }, { dtype = "float64" }))
  end)
  for _, mode in ipairs { "constant", "edge", "reflect" } do
    wrong("bad argument 'widths' to tensor.pad" .. too_many, function() v:pad({ { 2 ^ 62, 0 } }, { mode = mode }) end)
  end
  wrong("bad argument 'least' to tensor.bincount: expected an integer", function() v:bincount { least = 2 ^ 62 } end)
  wrong("bad argument 't' to tensor.bincount", function() tensor.new({ 2 ^ 50 }, { dtype = "float64" }):bincount() end)
  wrong("bad argument 'shape' to tensor.broadcast_to" .. too_many, function() v:broadcast_to { 2 ^ 48, 3 } end)
  wrong("bad argument 'shape' to tensor.exponential" .. too_many, function() tensor.exponential { 2 ^ 32, 2 ^ 32 } end)
  wrong("bad argument 'count' to tensor.choice: expected an integer", function() tensor.choice(5, 2 ^ 62) end)
  for _, shape in ipairs { { -1 }, { 1.5 }, { 0 / 0 }, { -math.huge } } do
    wrong("bad argument 'shape%[1%]' to tensor.zeros: expected a whole number of at least 0", function() tensor.zeros(shape) end)
  end
  for _, shape in ipairs { { 2 ^ 63 }, { 2 ^ 64 }, { math.huge }, { 1e300, 0 } } do
    wrong("bad argument 'shape' to tensor.zeros" .. too_many, function() tensor.zeros(shape) end)
  end
end)

test("oversized results for views of many elements are errors before their sizes wrap", function()
  local one = v:narrow(1, 1, 1)
  local a, b = one:broadcast_to { 2 ^ 40, 1 }, one:broadcast_to { 1, 2 ^ 40 }
  for _, name in ipairs { "add", "sub", "mul", "div", "pow", "lt", "maximum", "kron", "matmul" } do
    wrong("bad argument to tensor.%w+.*more than 2^48 elements", function() local _ = a[name](a, b) end)
  end
  local whole = tensor.new({ 1 }, { dtype = "int64" })
  local rows, columns = whole:broadcast_to { 2 ^ 40, 1 }, whole:broadcast_to { 1, 2 ^ 40 }
  for _, name in ipairs { "add", "pow", "mod", "floor_div" } do
    wrong("bad argument to tensor.[%w_]+.*more than 2^48 elements", function() local _ = rows[name](rows, columns) end)
  end
  wrong("bad argument to tensor.where.*more than 2^48 elements", function() tensor.where(tensor.new(true), a, b) end)
  wrong("bad argument to tensor.%w+.*more than 2^48 elements", function() tensor.einsum("ij,kl->ijkl", a, b) end)
  wrong("bad argument to tensor.concat" .. too_many, function()
    local most = one:broadcast_to { 2 ^ 48 }
    tensor.concat { most, most }
  end)
end)

test("endless work is an error, and tensors without elements take no time", function()
  local empty = tensor.exponential({ 2 ^ 32, 0 }, { seed = 1 })
  equal({ empty.shape, tostring(empty), empty:sum() }, { { 2 ^ 32, 0 }, "tensor([], shape=(4294967296, 0), float32)", 0 })
  for _, name in ipairs { "softmax", "sort", "cumsum", "flip", "clone", "unique", "nonzero", "exp", "hash" } do empty[name](empty) end
  wrong("bad argument 't' to tensor.totable: shape %(4294967296, 0%)", function() empty:totable() end)
  equal(tensor.zeros({ 2, 0 }):totable(), { {}, {} })
  wrong("bad argument 'sizes' to tensor.split", function() empty:split(1) end)
  equal({ v:diff(1, 2 ^ 53).shape, m:diag(1.8e19).shape, m:diag(-2 ^ 63).shape }, { { 0 }, { 0 }, { 0 } })
  equal(tensor.arange(5):roll(2 ^ 53 - 1):totable(), tensor.arange(5):roll((2 ^ 53 - 1) % 5):totable())
  equal(v:slice(1, 1, 3, 1e300):totable(), { 1 })
  equal(tensor.tri(2 ^ 40, 0).shape, { 2 ^ 40, 0 })
  local own = {}
  own[1] = own
  wrong("bad argument 'values' to tensor.new: expected at most 8 dimensions", function() tensor.new(own) end)
end)

test("a few of many positions are drawn without memory for all positions", function()
  local few = tensor.choice(2 ^ 31, 1000, { replace = false, seed = scratch_seed })
  equal({ few.size, few:unique().size, few:min() >= 1, few:max() <= 2 ^ 31 }, { 1000, 1000, true, true })
  -- The same positions as the first of a full permutation.
  local all = tensor.permutation(6400, { seed = scratch_seed })
  equal(tensor.choice(6400, 90, { replace = false, seed = scratch_seed }):equal(all:narrow(1, 1, 90)), true)
end)

test("bytes are read only from a string or a pointer", function()
  local ffi = require("ffi")
  for _, bytes in ipairs { 5LL, v, ffi.cast("uint8_t*", nil), true } do
    wrong("bad argument 'bytes' to tensor.from_u8: expected a string or a pointer", function() tensor.from_u8(bytes, 2) end)
  end
  equal(tensor.from_u8(ffi.new("uint8_t[2]", { 3, 4 }), 2):totable(), { 3, 4 })
end)

test("windows and strides of images have limits, and a stride beyond the image takes no time", function()
  local x = tensor.ones { 1, 4, 4, 1 }
  for _, size in ipairs { 2 ^ 31, 2 ^ 53, 1e300, 0 / 0, -1, 1.5 } do
    raises(function() nn.input { 4, 4, 1 }:conv2d { size, 1, 1, 1 } end, "%[1%] %(height of the window%)' to nn.conv2d: expected")
    raises(function() nn.input { 4, 4, 1 }:max_pool2d { 2, 2, stride = { 1, size } } end, "stride%[2%]' to nn.max_pool2d: expected")
  end
  raises(function() nn.input { 4, 4, 1 }:conv2d { 2 ^ 31 - 1, 1, 1, 1 } end, "to nn.conv2d: a window has at most 65536 pixels")
  local network = nn.input({ 4, 4, 1 }):conv2d({ 3, 3, 1, 1, stride = 2 ^ 31 - 1 }):network { seed = 1 }
  equal(network:forward(x, true).shape, { 1, 1, 1, 1 })
  network:backward(tensor.ones { 1, 1, 1, 1 })
end)
