--- Linear algebra: the factors of every decomposition multiply to its matrix, over many shapes, ranks and degenerate
--- cases.
local tensor = require("actor.tensor")

local random = require("actor.rng")(scratch_seed)
local types = { "float32", "float64" }
local tolerance = { float32 = 1e-5, float64 = 1e-12 }
local nan = 0 / 0

-- Checks that |got - expected| is small relative to the larger of |expected| and `size`.
local function close(got, expected, size)
  equal(got.shape, expected.shape)
  equal(got.dtype, expected.dtype)
  local off, scale = (got - expected):norm(), math.max(expected:norm(), size or 0)
  if not (off <= tolerance[got.dtype] * scale) then
    error(("off by %g of %g: %s is not %s"):format(off, scale, tostring(got), tostring(expected)), 2)
  end
end

local function normal(shape, dtype) return tensor.normal(shape, { dtype = dtype, seed = random:int(1e9) }) end

local function unit(like)
  local n = like.shape[like.ndim]
  return tensor.zeros(like.shape, { dtype = like.dtype }):copy_(tensor.eye(n, { dtype = like.dtype }))
end

-- Checks that the columns are orthonormal.
local function orthonormal(q)
  local product = q:transpose():matmul(q)
  close(product, unit(product), 1)
end

-- 1 where row >= column + offset.
local function is_zero(t, f)
  for i = 1, t.shape[t.ndim - 1] do
    for j = 1, t.shape[t.ndim] do
      if f(i, j) then equal(t:select(-1, j):select(-1, i):sum(), 0) end
    end
  end
end

local function above(i, j) return j > i end
local function below(i, j) return j < i end

-- Matrices of all kinds of one shape and type.
local function matrices(shape, dtype)
  local m, n = shape[#shape - 1], shape[#shape]
  local out = { normal(shape, dtype), tensor.zeros(shape, { dtype = dtype }), tensor.ones(shape, { dtype = dtype }) }
  if m > 1 and n > 1 then
    local lead = { unpack(shape, 1, #shape - 2) }
    local left, right = { unpack(lead) }, { unpack(lead) }
    for _, x in ipairs({ m, math.max(1, math.floor(math.min(m, n) / 2)) }) do table.insert(left, x) end
    for _, x in ipairs({ left[#left], n }) do table.insert(right, x) end
    table.insert(out, normal(left, dtype):matmul(normal(right, dtype)))  -- half the rank
    local graded = normal(shape, dtype)
    for j = 1, n do graded:select(-1, j):mul_(10 ^ (-12 * j / n)) end
    table.insert(out, graded)
    local twice = normal(shape, dtype)
    twice:select(-1, n):copy_(twice:select(-1, 1))
    table.insert(out, twice)
    table.insert(out, tensor.zeros(shape, { dtype = dtype }):copy_(normal({ n }, dtype)))  -- equal rows
    table.insert(out, normal(shape, dtype) * 1e-15)
    table.insert(out, normal(shape, dtype) * 1e15)
  end
  local turned = { unpack(shape) }
  turned[#turned], turned[#turned - 1] = m, n
  table.insert(out, normal(turned, dtype):transpose())
  turned[#turned - 1] = 2 * n
  table.insert(out, normal(turned, dtype):transpose():slice(-1, 1, 2 * n, 2))
  return out
end

local shapes = { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 5, 5 }, { 17, 17 }, { 40, 40 }, { 1, 4 }, { 4, 1 }, { 3, 7 }, { 7, 3 }, { 50, 20 },
  { 20, 50 }, { 0, 0 }, { 0, 3 }, { 3, 0 }, { 4, 3, 3 }, { 2, 3, 4, 2 }, { 2, 1, 2, 4 }, { 0, 3, 3 }, { 2, 0, 0 } }

-- Calls f(matrix) for all kinds of matrices; with `square`, only for square matrices.
local function for_all(f, square)
  for _, dtype in ipairs(types) do
    for _, shape in ipairs(shapes) do
      if not square or shape[#shape] == shape[#shape - 1] then
        for _, a in ipairs(matrices(shape, dtype)) do f(a) end
      end
    end
  end
end

test("the factors of lu multiply to the matrix", function()
  for_all(function(a)
    local p, l, u = a:lu()
    close(p:matmul(l):matmul(u), a)
    orthonormal(p)
    equal(p:eq(0):sum() + p:eq(1):sum(), p.size)
    is_zero(l, above)
    is_zero(u, below)
    for i = 1, l.shape[l.ndim] do equal(l:select(-1, i):select(-1, i):eq(1):sum(), l:select(-1, i):select(-1, i).size) end
    if l.size > 0 then holds(l:abs():max(), "<=", 1) end
  end)
end)

test("the factors of qr multiply to the matrix, thin and full", function()
  for_all(function(a)
    local m, n = a.shape[a.ndim - 1], a.shape[a.ndim]
    local q, r = a:qr()
    equal({ q.shape[q.ndim], r.shape[r.ndim] }, { math.min(m, n), n })
    close(q:matmul(r), a)
    orthonormal(q)
    is_zero(r, below)
    q, r = a:qr({ full = true })
    equal({ q.shape[q.ndim], r.shape[r.ndim - 1] }, { m, m })
    close(q:matmul(r), a)
    orthonormal(q)
    is_zero(r, below)
  end)
end)

test("the factors of svd multiply to the matrix, thin and full", function()
  for_all(function(a)
    local m, n = a.shape[a.ndim - 1], a.shape[a.ndim]
    local k = math.min(m, n)
    local u, s, vt = a:svd()
    equal({ u.shape[u.ndim], s.shape[s.ndim], vt.shape[vt.ndim - 1] }, { k, k, k })
    close((u * s:unsqueeze(-2)):matmul(vt), a)
    orthonormal(u)
    orthonormal(vt:transpose())
    if s.size > 0 then
      holds(s:min(), ">=", 0)
      equal(s:slice(-1, 1, k - 1):ge(s:slice(-1, 2, k)):sum(), s.size - s.size / k)
    end
    close(a:svd({ vectors = false }), s)
    u, s, vt = a:svd({ full = true })
    equal({ u.shape[u.ndim], vt.shape[vt.ndim - 1] }, { m, n })
    close((u:slice(-1, 1, k) * s:unsqueeze(-2)):matmul(vt:slice(-2, 1, k)), a)
    orthonormal(u)
    orthonormal(vt:transpose())
  end)
end)

test("the factors of eigh multiply to the matrix, and eigh ignores elements above the diagonal", function()
  for_all(function(a)
    local n = a.shape[a.ndim]
    local symmetric = a + a:transpose()
    local w, v = symmetric:eigh()
    close((v * w:unsqueeze(-2)):matmul(v:transpose()), symmetric)
    orthonormal(v)
    if w.size > 0 then equal(w:slice(-1, 1, n - 1):le(w:slice(-1, 2, n)):sum(), w.size - w.size / n) end
    close(symmetric:eigh({ vectors = false }), w, symmetric:norm())
    local lower = symmetric:clone()
    for i = 1, n - 1 do lower:select(-2, i):slice(-1, i + 1, n):fill_(7) end
    close((lower:eigh()), w, symmetric:norm())
  end, true)
end)

test("the factors of cholesky multiply to the matrix", function()
  for _, dtype in ipairs(types) do
    for _, shape in ipairs(shapes) do
      local a = normal(shape, dtype)
      local definite = a:matmul(a, { tb = true })
      definite = definite + unit(definite)
      local l = definite:cholesky()
      close(l:matmul(l, { tb = true }), definite)
      is_zero(l, above)
      close((definite:transpose()):cholesky(), l)
    end
  end
end)

test("solve and inverse undo a product, for vectors, matrices and batches", function()
  for _, dtype in ipairs(types) do
    for _, shape in ipairs(shapes) do
      local n = shape[#shape]
      if shape[#shape - 1] == n then
        -- Well conditioned, so that the residual is small.
        local a = normal(shape, dtype)
        a = a:div(math.sqrt(math.max(n, 1))) + 3 * unit(a)
        close(a:matmul(a:inverse()), unit(a))
        close(a:transpose():solve(unit(a)), a:inverse():transpose())
        local wide = { unpack(shape) }
        wide[#wide] = 3
        local b = normal(wide, dtype)
        close(a:matmul(a:solve(b)), b)
        local v = normal(n, dtype)
        local x = a:solve(v)
        close(x, a:inverse():matmul(v))
        close(tensor.einsum("...ij,...j->...i", a, x), tensor.zeros(x.shape, { dtype = dtype }):copy_(v))
      end
    end
    local a, b = normal({ 3, 1, 4, 4 }, dtype) + 6 * tensor.eye(4, { dtype = dtype }), normal({ 2, 4, 2 }, dtype)
    local x = a:solve(b)
    equal(x.shape, { 3, 2, 4, 2 })
    close(a:matmul(x), tensor.zeros({ 3, 2, 4, 2 }, { dtype = dtype }):copy_(b))
    equal(a:solve(normal(4, dtype)).shape, { 3, 1, 4 })
    equal(a:select(1, 1):select(1, 1):solve(b).shape, { 2, 4, 2 })
    equal(a:solve(tensor.zeros({ 4, 0 }, { dtype = dtype })).shape, { 3, 1, 4, 0 })
  end
end)

test("determinants agree with the eigenvalues, and are numbers for one matrix", function()
  for_all(function(a)
    local symmetric = a + a:transpose()
    if symmetric:norm() > 1e6 then symmetric = symmetric:div(1e15) end
    local w = (symmetric:eigh())
    local n = a.shape[a.ndim]
    local det, sign, log = symmetric:det(), symmetric:slogdet()
    if a.ndim == 2 then
      local product = 1
      for i = 1, n do product = product * w:get(i) end
      local size = 1
      for i = 1, n do size = size * math.max(w:abs():max(), 1e-30) end
      equal({ type(det), type(sign), type(log) }, { "number", "number", "number" })
      near(det, product, tolerance[a.dtype] * math.max(size, math.abs(det)) + 1e-30)
      if sign ~= 0 and math.abs(log) < 80 then near(sign * math.exp(log) / det, 1, 1e-4) end
    else
      equal(det.shape, { unpack(a.shape, 1, a.ndim - 2) })
    end
  end, true)
  equal(tensor.new({ { 0, 1 }, { 1, 0 } }):det(), -1)
  equal(tensor.new({ { 2, 1 }, { 4, 2 } }):det(), 0)
  equal({ tensor.new({ { 2, 1 }, { 4, 2 } }):slogdet() }, { 0, -math.huge })
  equal(tensor.zeros({ 0, 0 }):det(), 1)
  equal({ tensor.zeros({ 0, 0 }):slogdet() }, { 1, 0 })
  equal(tensor.new({ { { 2, 0 }, { 0, 3 } }, { { 0, 1 }, { 1, 0 } } }):det():totable(), { 6, -1 })
  local large = tensor.eye(300, { dtype = "float64" }) * 100
  equal(large:det(), math.huge)
  near(select(2, large:slogdet()), 300 * math.log(100), 1e-9)
end)

test("pinv meets the conditions of Moore and Penrose, at any rank", function()
  for_all(function(a)
    if a:norm() > 0 and (a:norm() < 1e-6 or a:norm() > 1e6) then a = a:div(a:norm()) end
    local p = a:pinv({ tolerance = 1e-4 })
    equal(p.shape[p.ndim], a.shape[a.ndim - 1])
    -- Components below the tolerance are lost.
    local u, s, vt = a:svd()
    local cut = (u * (s * s:gt(s.size > 0 and s:max(-1, true) * 1e-4 or 0)):unsqueeze(-2)):matmul(vt)
    local loose = 1e4
    close(cut:matmul(p):matmul(cut), cut, loose * cut:norm())
    close(p:matmul(cut):matmul(p), p, loose * p:norm())
    close(cut:matmul(p), cut:matmul(p):transpose():contiguous(), loose)
  end)
  close(tensor.new({ { 1, 2 }, { 3, 4 } }):pinv(), tensor.new({ { 1, 2 }, { 3, 4 } }):inverse())
  equal(tensor.zeros({ 2, 3 }):pinv():totable(), tensor.zeros({ 3, 2 }):totable())
end)

test("rank, condition and norms of matrices have their values", function()
  for _, dtype in ipairs(types) do
    for _, rank in ipairs({ 0, 1, 3, 6 }) do
      local a = normal({ 8, rank }, dtype):matmul(normal({ rank, 6 }, dtype))
      equal(a:matrix_rank(), rank)
      equal(a:transpose():matrix_rank(), rank)
    end
    local diagonal = tensor.zeros({ 2, 3, 3 }, { dtype = dtype })
    for i = 1, 3 do diagonal:set(1, i, i, 10 ^ -i) end
    equal(diagonal:matrix_rank():totable(), { 3, 0 })
    equal(diagonal:matrix_rank({ tolerance = 0.05 }):totable(), { 2, 0 })
    near(diagonal[1]:cond(), 100, 1e-3)
    near(diagonal[1]:cond(1), 100, 1e-3)
    equal(diagonal[2]:cond() ~= diagonal[2]:cond(), true)
    equal(tensor.new({ { 1, 0 }, { 0, 0 } }):cond(), math.huge)
    local a = tensor.new({ { 3, -4 }, { 0, 5 }, { 1, 1 } }, { dtype = dtype })
    near(a:matrix_norm(), math.sqrt(52), 1e-5)
    near(a:matrix_norm(1), 10, 1e-6)
    near(a:matrix_norm(math.huge), 7, 1e-6)
    local s = a:svd({ vectors = false })
    near(a:matrix_norm(2), s:get(1), 1e-5)
    near(a:matrix_norm("nuc"), s:sum(), 1e-5)
    local both = tensor.zeros({ 2, 3, 2 }, { dtype = dtype })
    both[1] = a
    for _, kind in ipairs({ "fro", "nuc", 1, 2, math.huge }) do
      local norms = both:matrix_norm(kind)
      near(norms:get(1), a:matrix_norm(kind), 1e-5)
      equal(norms:get(2), 0)
      equal(tensor.zeros({ 0, 3 }, { dtype = dtype }):matrix_norm(kind), 0)
      equal(tensor.zeros({ 3, 0 }, { dtype = dtype }):matrix_norm(kind), 0)
    end
  end
  equal(tensor.zeros({ 0, 3 }):matrix_rank(), 0)
end)

test("lstsq returns the shortest least-squares solution", function()
  for _, dtype in ipairs(types) do
    for _, shape in ipairs({ { 6, 3 }, { 3, 6 }, { 4, 4 }, { 1, 1 }, { 2, 5, 3 } }) do
      local a = normal(shape, dtype)
      local wide = { unpack(shape) }
      wide[#wide] = 2
      local b = normal(wide, dtype)
      local x, residuals, rank, s = a:lstsq(b)
      close(a:matmul(a:matmul(x) - b, { ta = true }), tensor.zeros(x.shape, { dtype = dtype }), 100 * a:norm() * b:norm())
      close(x, a:pinv():matmul(b), 100 * x:norm())
      close(residuals, (a:matmul(x) - b):square():sum(-2), b:norm() ^ 2)
      if #shape == 2 then equal(rank, math.min(unpack(shape))) else equal(rank:totable(), { 3, 3 }) end
      close(s, a:svd({ vectors = false }))
    end
    local x, residuals, rank = tensor.new({ { 1, 1 }, { 1, 1 }, { 2, 2 } }, { dtype = dtype }):lstsq(tensor.new({ 2, 2, 4 }, { dtype = dtype }))
    equal({ x.shape, residuals.shape, rank }, { { 2 }, {}, 1 })
    close(x, tensor.ones(2, { dtype = dtype }))
    equal(tensor.zeros({ 0, 2 }, { dtype = dtype }):lstsq(tensor.zeros(0, { dtype = dtype })):totable(), { 0, 0 })
  end
end)

test("powers of matrices are products", function()
  for _, dtype in ipairs(types) do
    local a = normal({ 2, 3, 3 }, dtype) + 3 * tensor.eye(3, { dtype = dtype })
    close(a:matrix_power(0), unit(a))
    close(a:matrix_power(1), a)
    close(a:matrix_power(5), a:matmul(a):matmul(a):matmul(a):matmul(a))
    close(a:matrix_power(-2):matmul(a):matmul(a), unit(a), 100)
  end
  equal(tensor.zeros({ 0, 0 }):matrix_power(3).shape, { 0, 0 })
end)

test("a matrix without a result is an error that names the matrix and the place", function()
  local function wrong(message, body) raises(body, "tensor_linalg_spec.lua:%d+: " .. message) end
  for _, dtype in ipairs(types) do
    local batch = tensor.zeros({ 4, 2, 2 }, { dtype = dtype }):copy_(tensor.eye(2, { dtype = dtype }))
    batch[3] = tensor.new({ { 1, 2 }, { 2, 4 } }, { dtype = dtype })
    wrong("tensor.inverse: matrix 3 is singular: pivot 2 is 0", function() batch:inverse() end)
    wrong("tensor.solve: matrix 3 is singular: pivot 2 is 0", function()
      batch:solve(tensor.ones(2, { dtype = dtype }))
    end)
    wrong("tensor.solve: the matrix is singular: pivot 2 is 0", function()
      batch[3]:solve(tensor.ones(2, { dtype = dtype }))
    end)
    wrong("tensor.inverse: the matrix is singular", function() batch[3]:matrix_power(-1) end)
    wrong("tensor.inverse: the matrix is singular", function() batch[3]:cond(1) end)
    wrong("tensor.cholesky: matrix 3 is not positive definite: pivot 2 is 0", function() batch:cholesky() end)
    local large = normal({ 60, 60 }, dtype)
    large = large:matmul(large, { tb = true }) + tensor.eye(60, { dtype = dtype })
    large:select(1, 41):zero_()
    wrong("tensor.inverse: the matrix is singular", function() large:inverse() end)
    wrong("tensor.cholesky: the matrix is not positive definite: pivot 41 is 0", function() large:cholesky() end)
    large:set(50, 50, -1)
    large:set(41, 41, 1e6)
    wrong("tensor.cholesky: the matrix is not positive definite: pivot %d+ is %-", function() large:cholesky() end)
    for _, bad in ipairs({ nan, math.huge, -math.huge }) do
      batch[3]:set(1, 2, bad)
      for _, name in ipairs({ "inverse", "lu", "cholesky", "qr", "svd", "eigh", "det", "slogdet", "pinv", "matrix_rank", "cond" }) do
        wrong("tensor." .. name .. ": matrix 3 has an element that is NaN or infinite", function()
          batch[name](batch)
        end)
      end
      wrong("tensor.lstsq: matrix 3 has", function() batch:lstsq(tensor.ones(2, { dtype = dtype })) end)
      wrong("tensor.matrix_norm: matrix 3 has", function() batch:matrix_norm("nuc") end)
    end
  end
end)

test("wrong arguments are errors that name shapes", function()
  local function wrong(message, body) raises(body, "tensor_linalg_spec.lua:%d+: " .. message) end
  local a = tensor.ones({ 2, 3 })
  for _, name in ipairs({ "inverse", "cholesky", "eigh", "det", "slogdet" }) do
    wrong(("bad argument 't' to tensor.%s: expected square matrices, got shape %%(2, 3%%)"):format(name), function()
      a[name](a)
    end)
    wrong(("bad argument 't' to tensor.%s: expected matrices, of at least 2 dimensions, got shape %%(3%%)"):format(name), function()
      a[name](a[1])
    end)
  end
  wrong("bad argument 'a' to tensor.solve: expected square matrices", function() a:solve(a) end)
  wrong("bad argument to tensor.solve: shapes %(3, 3%) and %(2%) do not fit", function()
    tensor.eye(3):solve(tensor.ones(2))
  end)
  wrong("bad argument to tensor.solve: shapes %(2, 3, 3%) and %(4, 3, 1%) do not fit", function()
    tensor.ones({ 2, 3, 3 }):solve(tensor.ones({ 4, 3, 1 }))
  end)
  wrong("bad argument to tensor.solve: .*mixed", function()
    tensor.eye(3):solve(tensor.ones(3, { dtype = "float64" }))
  end)
  wrong("bad argument 'b' to tensor.solve: expected a tensor", function() tensor.eye(3):solve(3) end)
  wrong("bad argument to tensor.lstsq: shapes %(2, 3%) and %(3%) do not fit", function() a:lstsq(tensor.ones(3)) end)
  wrong("unknown option 'ful' to tensor.svd", function() a:svd({ ful = true }) end)
  wrong("bad argument 'tolerance' to tensor.pinv", function() a:pinv({ tolerance = -1 }) end)
  wrong("bad argument 'kind' to tensor.matrix_norm: expected 'fro', 'nuc', 1, 2 or math.huge", function()
    a:matrix_norm(3)
  end)
  wrong("bad argument 'kind' to tensor.cond", function() tensor.eye(2):cond("x") end)
  wrong("bad argument 't' to tensor.cond: an empty matrix", function() tensor.zeros({ 0, 3 }):cond() end)
  wrong("bad argument 'n' to tensor.matrix_power", function() tensor.eye(2):matrix_power(1.5) end)
end)

test("decompositions are the same bits on any number of threads", function()
  local a = normal({ 300, 12, 12 }, "float64")
  local definite = a:matmul(a, { tb = true }) + tensor.eye(12, { dtype = "float64" })
  local function hashes()
    local out = {}
    for _, t in ipairs({ a:inverse(), definite:cholesky(), (a:qr()), (a:svd()), (definite:eigh()), a:det() }) do
      table.insert(out, t:hash())
    end
    return out
  end
  local alone = hashes()
  tensor.set_threads(3)
  equal(hashes(), alone)
  tensor.set_threads(1)
end)
