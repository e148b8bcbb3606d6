--- Sparse matrices against dense ones.
local tensor = require("actor.tensor")

local random = require("actor.rng")(scratch_seed)
local types = { "float32", "float64" }
local shapes = { { 1, 1 }, { 5, 3 }, { 3, 5 }, { 0, 3 }, { 3, 0 }, { 0, 0 }, { 1, 40 }, { 40, 1 }, { 37, 53 } }

-- A dense matrix with about one element in four, of small whole numbers, so that sums are exact.
local function dense(shape, dtype)
  local seed = random:int(1e9)
  return tensor.integers(shape, 1, 9, { seed = seed, dtype = dtype }) * tensor.bernoulli(shape, 0.25, { seed = seed, stream = 1, dtype = dtype })
end

local function sound(m)
  equal(m.starts.shape, { m.n + 1 })
  equal(m.starts:get(1), 1)
  equal(m.starts:get(m.n + 1), m.count + 1)
  equal(m.columns.shape, m.values.shape)
  for r = 1, m.n do
    for i = m.starts:get(r) + 1, m.starts:get(r + 1) - 1 do assert(m.columns:get(i - 1) < m.columns:get(i)) end
  end
end

local function same(m, t)
  sound(m)
  equal(m.shape, t.shape)
  equal(m.dtype, t.dtype)
  equal(m:dense():equal(t:contiguous()), true)
end

-- Calls f(matrix, dense form) for all shapes and types.
local function for_all(f)
  for _, dtype in ipairs(types) do
    for _, shape in ipairs(shapes) do
      local t = dense(shape, dtype)
      f(tensor.csr(t), t)
    end
  end
end

test("a sparse matrix of a dense matrix has its nonzero elements, also of strided matrices", function()
  for_all(function(m, t)
    same(m, t)
    equal(m.count, t:ne(0):sum())
    same(tensor.csr(t:transpose()), t:transpose())
    if t.shape[1] > 1 then same(tensor.csr(t:slice(1, 1, -1, 2)), t:slice(1, 1, -1, 2)) end
  end)
end)

test("values with equal places add up, in any order", function()
  local m = tensor.csr { rows = { 2, 1, 2, 2 }, columns = { 1, 3, 1, 2 }, values = { 1, 5, 2, 4 }, shape = { 3, 3 } }
  same(m, tensor.new({ { 0, 0, 5 }, { 3, 4, 0 }, { 0, 0, 0 } }))
  equal(m.count, 3)
  for _, dtype in ipairs(types) do
    for _, shape in ipairs(shapes) do
      local n = shape[1] * shape[2] > 0 and 300 or 0
      local t = tensor.zeros(shape, { dtype = dtype })
      local function places(size) return tensor.integers(n, math.min(size, 1), size, { seed = random:int(1e9), dtype = dtype }) end
      local rows, columns, values = places(shape[1]), places(shape[2]), tensor.integers(n, -4, 4, { dtype = dtype })
      for i = 1, n do t:set(rows:get(i), columns:get(i), t:get(rows:get(i), columns:get(i)) + values:get(i)) end
      same(tensor.csr { rows = rows, columns = columns, values = values, shape = shape }, t)
    end
  end
  same(tensor.csr { rows = {}, columns = {}, values = {}, shape = { 2, 2 }, dtype = "float64" }, tensor.zeros({ 2, 2 }, { dtype = "float64" }))
  for _, dtype in ipairs({ "int32", "int64", "uint8" }) do
    local rows, columns = tensor.new({ { 2, 1 }, { 1, 9 }, { 2, 3 } }, { dtype = dtype }):select(2, 1), tensor.new({ 1, 3, 1 }, { dtype = dtype })
    local part = tensor.csr { rows = rows, columns = columns, values = { 1, 5, 2 }, shape = { 2, 3 } }
    same(part, tensor.new({ { 0, 0, 5 }, { 3, 0, 0 } }))
    equal({ part.starts.dtype, part.columns.dtype }, { "int64", "int64" })
    equal({ part.starts:totable(), part.columns:totable() }, { { 1, 2, 3 }, { 3, 1 } })
  end
  local strided = tensor.new({ { 1, 9 }, { 2, 9 } }):select(2, 1)
  same(tensor.csr { rows = strided, columns = strided, values = strided, shape = { 2, 2 } }, tensor.new({ { 1, 0 }, { 0, 2 } }))
end)

test("products with vectors and matrices agree with the dense matrix", function()
  for_all(function(m, t)
    local function other(...) return dense({ ... }, t.dtype) end
    for _, k in ipairs({ 0, 1, 5, 33, 70 }) do
      local b, a = other(m.width, k), other(k, m.n)
      equal(m:matmul(b):equal(t:matmul(b)), true)
      equal(m:matmul(other(k, m.width):transpose()).shape, { m.n, k })
      local turned = other(k, m.width)
      equal(m:matmul(turned:transpose()):equal(t:matmul(turned:transpose())), true)
      equal(m:rmatmul(a):equal(a:matmul(t)), true)
    end
    local v, w = dense({ m.width }, t.dtype), dense({ m.n }, t.dtype)
    equal(m:matmul(v):equal(t:matmul(v)), true)
    equal(m:rmatmul(w):equal(w:matmul(t)), true)
    local spread = dense({ m.width, 2 }, t.dtype):select(2, 2)
    equal(m:matmul(spread):equal(t:matmul(spread)), true)
  end)
end)

test("products are the same bits on any number of threads", function()
  local n = 3000
  local m = tensor.csr {
    rows = tensor.integers(100000, 1, n, { seed = 1 }), columns = tensor.integers(100000, 1, n, { seed = 2 }),
    values = tensor.normal(100000, { seed = 3 }), shape = { n, n },
  }
  local b = tensor.normal({ n, 20 }, { seed = 4 })
  local alone = m:matmul(b):hash()
  tensor.set_threads(3)
  equal(m:matmul(b):hash(), alone)
  tensor.set_threads(1)
end)

test("transposing, adding, scaling and rows agree with the dense matrix", function()
  for_all(function(m, t)
    same(m:transpose(), t:transpose())
    same(m:transpose():transpose(), t)
    local u = dense(t.shape, t.dtype)
    same(m:add(tensor.csr(u)), t + u)
    same(m + m, t * 2)
    same(m:scale(-2), t * -2)
    same(m * 3, t * 3)
    same(3 * m, t * 3)
    for from = 1, m.n + 1, 3 do
      for _, to in ipairs({ from - 1, math.min(from, m.n), m.n }) do
        local part = m:rows(from, to)
        same(part, t:slice(1, from, from - 1 + part.n))
        equal(part.n, to - from + 1)
        same(part:transpose(), t:slice(1, from, from - 1 + part.n):transpose())
        if part.n > 0 then equal(part:matmul(tensor.ones(m.width, { dtype = m.dtype })):equal(part:dense():sum(2)), true) end
      end
    end
  end)
end)

test("a sparse matrix prints its size and first values", function()
  equal(tostring(tensor.csr(tensor.new({ { 0, 0.5 }, { 0, 0 }, { 3, 0 } }))), "sparse(3 x 2, 2 values, float32)\n  (1, 2)  0.5\n  (3, 1)  3")
  equal(tostring(tensor.csr(tensor.zeros({ 0, 2 }))), "sparse(0 x 2, 0 values, float32)")
  local lines = select(2, tostring(tensor.csr(tensor.eye(20))):gsub("\n", ""))
  equal(lines, 11)
end)

test("wrong arguments are errors that name shapes and places", function()
  local function wrong(message, body) raises(body, "tensor_sparse_spec.lua:%d+: " .. message) end
  local m = tensor.csr(tensor.eye(3))
  local function coordinates(more)
    local all = { rows = { 1 }, columns = { 2 }, values = { 3 }, shape = { 2, 2 } }
    for key, value in pairs(more) do all[key] = value end
    return function() tensor.csr(all) end
  end
  wrong("bad argument 'rows' to tensor.csr: expected whole numbers from 1 to 2, got 3 at position 1", coordinates { rows = { 3 } })
  wrong("bad argument 'columns' to tensor.csr: .* got 1.5 at position 1", coordinates { columns = { 1.5 } })
  wrong("bad argument 'rows' to tensor.csr: expected whole numbers, got a tensor of bool", coordinates { rows = tensor.new { true } })
  wrong("bad argument 'rows' to tensor.csr: .* got %-1 at position 1", coordinates { rows = tensor.new({ -1 }, { dtype = "int64" }) })
  wrong("bad argument 'rows' to tensor.csr: .* got %-?nan at position 1", coordinates { rows = { 0 / 0 } })
  wrong("bad argument 'rows' to tensor.csr: expected one position for each of 1 values, got shape %(2%)", coordinates { rows = { 1, 2 } })
  wrong("bad argument 'shape' to tensor.csr: expected 2 sizes", coordinates { shape = { 2 } })
  wrong("bad argument 'values' to tensor.csr: expected 1 dimension", coordinates { values = { { 1 } } })
  wrong("bad argument 'dtype' to tensor.csr: the matrix has the element type of 'values'", coordinates { values = tensor.ones(1), dtype = "float32" })
  wrong("unknown option 'row' to tensor.csr", coordinates { row = 1 })
  wrong("bad argument 'm' to tensor.csr: expected 2 dimensions, got shape %(3%)", function()
    tensor.csr(tensor.ones(3))
  end)
  wrong("bad argument 'options' to tensor.csr", function() tensor.csr(3) end)
  wrong("bad argument to csr:matmul: shapes %(3, 3%) and %(2%) do not fit", function() m:matmul(tensor.ones(2)) end)
  wrong("bad argument to csr:rmatmul: shapes %(2, 2%) and %(3, 3%) do not fit", function()
    m:rmatmul(tensor.ones({ 2, 2 }))
  end)
  wrong("bad argument to csr:matmul: float32 and float64 mixed", function()
    m:matmul(tensor.ones(3, { dtype = "float64" }))
  end)
  wrong("bad argument 'b' to csr:matmul: expected a tensor", function() m:matmul(m) end)
  wrong("bad argument to csr:add: shapes %(3, 3%) and %(2, 2%) do not fit", function()
    m:add(tensor.csr(tensor.eye(2)))
  end)
  wrong("bad argument to csr:add: float32 and float64 mixed", function()
    m:add(tensor.csr(tensor.eye(3, { dtype = "float64" })))
  end)
  wrong("bad argument 'other' to csr:add: expected a sparse matrix", function() return m + tensor.eye(3) end)
  wrong("bad argument 'factor' to csr:scale", function() return m * m end)
  wrong("bad argument 'from' to csr:rows", function() m:rows(0) end)
  wrong("bad argument 'to' to csr:rows", function() m:rows(1, 4) end)
  wrong("there is no csr:dens; did you mean csr:dense%?", function() m:dens() end)
end)
