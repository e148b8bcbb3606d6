--- Products of tensors: batches of matrices, einsum and similar functions, compared with plain sums.
local tensor = require("actor.tensor")

local random = require("actor.rng")(scratch_seed)
local types = { "float32", "float64" }
local tolerance = { float32 = 1e-5, float64 = 1e-13 }

local function close(got, expected, dtype)
  equal(got.shape, expected.shape)
  equal(got.dtype, dtype)
  if not got:allclose(expected, { rtol = tolerance[dtype], atol = 10 * tolerance[dtype] }) then
    error(("%s is not %s"):format(tostring(got), tostring(expected)), 2)
  end
end

local function normal(shape, dtype) return tensor.normal(shape, { dtype = dtype, seed = random:int(1e9) }) end

-- A non-contiguous tensor of the shape: every second element of a larger, transposed tensor.
local function spread(shape, dtype)
  local sizes = {}
  for d = #shape, 1, -1 do table.insert(sizes, 2 * shape[d] + 1) end
  local t = normal(sizes, dtype)
  for d = 1, math.floor(#shape / 2) do t = t:transpose(d, #shape + 1 - d) end
  for d = 1, #shape do t = t:slice(d, 1, 2 * shape[d], 2) end
  equal(t.shape, shape)
  return t
end

-- The sum of products by definition: every index of every letter.
local function by_definition(subscripts, dtype, ...)
  local operands, sizes, letters = { ... }, {}, {}
  local inputs, output = subscripts:match("^(.-)%->(.*)$")
  local names = {}
  for part in (inputs .. ","):gmatch("(.-),") do table.insert(names, part) end
  for i, name in ipairs(names) do
    for d = 1, #name do
      local letter = name:sub(d, d)
      if not sizes[letter] then table.insert(letters, letter) end
      sizes[letter] = operands[i].shape[d]
    end
  end
  local shape = {}
  for d = 1, #output do shape[d] = sizes[output:sub(d, d)] end
  local out = tensor.zeros(shape, { dtype = "float64" })
  local index = {}
  local function at(name)
    local place = {}
    for d = 1, #name do place[d] = index[name:sub(d, d)] end
    return place
  end
  local function visit(depth)
    if depth > #letters then
      local product = 1
      for i, name in ipairs(names) do product = product * operands[i]:get(unpack(at(name))) end
      local place = at(output)
      local before = out:get(unpack(place))
      table.insert(place, before + product)
      return out:set(unpack(place))
    end
    for i = 1, sizes[letters[depth]] do
      index[letters[depth]] = i
      visit(depth + 1)
    end
  end
  visit(1)
  return out:to(dtype)
end

test("matrices of a batch are multiplied one by one, with broadcasting", function()
  local cases = {
    { { 4, 2, 3 }, { 4, 3, 5 } }, { { 4, 2, 3 }, { 3, 5 } }, { { 2, 3 }, { 4, 3, 5 } }, { { 2, 1, 2, 3 }, { 3, 3, 2 } },
    { { 1, 2, 3 }, { 4, 3, 1 } }, { { 3 }, { 4, 3, 5 } }, { { 4, 2, 3 }, { 3 } }, { { 0, 2, 3 }, { 3, 2 } },
    { { 2, 0, 3 }, { 2, 3, 2 } }, { { 2, 2, 0 }, { 2, 0, 2 } }, { { 2, 2, 3 }, { 2, 3, 0 } }, { { 1, 1, 1 }, { 1, 1, 1 } },
    { { 3, 1, 2, 2 }, { 1, 4, 2, 2 } },
  }
  for _, dtype in ipairs(types) do
    for _, case in ipairs(cases) do
      for _, make in ipairs({ normal, spread }) do
        local a, b = make(case[1], dtype), make(case[2], dtype)
        local got = a:matmul(b)
        local left, right = a.ndim == 1 and a:unsqueeze(1) or a, b.ndim == 1 and b:unsqueeze(2) or b
        local lead = (tensor.zeros(left.shape):sum(-1):sum(-1) + tensor.zeros(right.shape):sum(-1):sum(-1)).shape
        local shape = { unpack(lead) }
        if a.ndim > 1 then table.insert(shape, a.shape[a.ndim - 1]) end
        if b.ndim > 1 then table.insert(shape, b.shape[b.ndim]) end
        equal(got.shape, shape)
        -- Compares each matrix separately.
        local function matrix(t, index)
          local n = t.ndim - 2
          for d = 1, n do
            local i = index[#lead - n + d]
            t = t:select(1, t.shape[1] == 1 and 1 or i)
          end
          return t
        end
        local function visit(index, part)
          if #index == #lead then
            local one = matrix(left, index):matmul(matrix(right, index))
            if a.ndim == 1 then one = one:select(1, 1) end
            if b.ndim == 1 then one = one:select(-1, 1) end
            return close(part, one, dtype)
          end
          for i = 1, lead[#index + 1] do
            table.insert(index, i)
            visit(index, part:select(1, i))
            table.remove(index)
          end
        end
        visit({}, got)
      end
    end
  end
end)

test("a batch accepts the options of a product", function()
  local a, b = normal({ 3, 4, 2 }, "float64"), normal({ 3, 5, 4 }, "float64")
  local expected = a:transpose():matmul(b:transpose())
  close(a:matmul(b, { ta = true, tb = true }), expected, "float64")
  local out = tensor.ones({ 3, 2, 5 }, { dtype = "float64" })
  a:matmul(b, { ta = true, tb = true, out = out, accumulate = true, alpha = 2 })
  close(out, expected * 2 + 1, "float64")
  local square = normal({ 3, 4, 4 }, "float64")
  local twice = square:matmul(square)
  square:matmul(square, { out = square })
  close(square, twice, "float64")
  local turned = tensor.empty({ 3, 5, 2 }, { dtype = "float64" })
  a:matmul(b, { ta = true, tb = true, out = turned:transpose() })
  close(turned:transpose(), expected, "float64")
end)

test("products of a batch are the same bits on any number of threads", function()
  for _, shapes in ipairs({ { { 300, 40, 30 }, { 300, 30, 50 } }, { { 4, 200, 200 }, { 4, 200, 200 } },
    { { 50, 40, 300 }, { 300, 400 } } }) do
    local a, b = normal(shapes[1], "float32"), normal(shapes[2], "float32")
    local alone = a:matmul(b):hash()
    for _, threads in ipairs({ 2, 3 }) do
      tensor.set_threads(threads)
      equal(a:matmul(b):hash(), alone)
    end
    tensor.set_threads(1)
  end
end)

test("matrices of mismatched shapes are an error that names both shapes", function()
  raises(function() tensor.ones({ 2, 3, 4 }):matmul(tensor.ones({ 3, 4, 2 })) end,
    "tensor_products_spec.lua:%d+: bad argument to tensor.matmul: shapes %(2, 3, 4%) and %(3, 4, 2%) do not fit")
  raises(function() tensor.ones({ 2, 3, 4 }):matmul(tensor.ones({ 2, 3, 4 })) end, "do not fit")
  raises(function() tensor.full({}, 1):matmul(tensor.ones(2)) end, "bad argument 'a' to tensor.matmul: a tensor without dim")
  raises(function() tensor.ones(2):matmul(tensor.full({}, 1)) end, "bad argument 'b' to tensor.matmul")
end)

test("einsum is the sum of products by definition", function()
  local cases = {
    "i->i", "i->", "ij->ji", "ij->", "ij->j", "ii->i", "ii->", "iij->j", "iji->ij", "i,i->", "i,j->ij", "i,j->ji", "ij,j->i",
    "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ji,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "ijk,ikl->jl", "ijk,jil->kl",
    "ij,ij->", "ij,ij->ij", "ij,ij->i", "ij,kl->ikjl", "ijk,k->ij", "ii,i->i", "ij,jk,kl->il", "i,i,i->i", "ij,j,k->ik",
    "aij,ajk,ak->ai", "ijkl,kl->ij", "ijkl,lj->ik", "i,ij,j->", "ij,k->i", "ij,k->k", ",i->i", "i,->i", "->",
  }
  local sizes = { { i = 2, j = 3, k = 4, l = 2, a = 3, b = 2 }, { i = 1, j = 1, k = 1, l = 1, a = 1, b = 1 },
    { i = 0, j = 2, k = 3, l = 2, a = 2, b = 2 }, { i = 3, j = 0, k = 2, l = 1, a = 2, b = 2 } }
  for _, dtype in ipairs(types) do
    for _, subscripts in ipairs(cases) do
      for s, size in ipairs(sizes) do
        local operands = {}
        for part in (subscripts:match("^(.-)%->") .. ","):gmatch("(.-),") do
          local shape = {}
          for d = 1, #part do shape[d] = size[part:sub(d, d)] end
          table.insert(operands, (s == 1 and spread or normal)(shape, dtype))
        end
        local got = tensor.einsum(subscripts, unpack(operands))
        close(got, by_definition(subscripts, dtype, unpack(operands)), dtype)
      end
    end
  end
end)

test("einsum without a result has the letters that occur once, and ... denotes the other dimensions", function()
  local a, b = normal({ 2, 3 }, "float64"), normal({ 3, 4 }, "float64")
  close(tensor.einsum("ij,jk", a, b), a:matmul(b), "float64")
  close(tensor.einsum("kj, ji", a, b), a:matmul(b):transpose(), "float64")
  close(tensor.einsum("ba", a), a:transpose(), "float64")
  near(tensor.einsum("ii", b:matmul(b, { tb = true })):item(), b:norm() ^ 2, 1e-10)
  local c, d = normal({ 5, 1, 2, 3 }, "float64"), normal({ 4, 3, 2 }, "float64")
  close(tensor.einsum("...ij,...jk->...ik", c, d), c:matmul(d), "float64")
  close(tensor.einsum("...ij,...jk", c, d), c:matmul(d), "float64")
  close(tensor.einsum("...i,i->...", c, tensor.ones(3, { dtype = "float64" })), c:sum(-1), "float64")
  close(tensor.einsum("i...->...", c), c:sum(1), "float64")
  close(tensor.einsum("...,...", a, a), a * a, "float64")
end)

test("einsum never returns a view", function()
  local a = tensor.ones({ 2, 2 })
  tensor.einsum("ij->ji", a):zero_()
  tensor.einsum("ii->i", a):zero_()
  equal(a:sum(), 4)
end)

test("wrong subscripts are errors that name letter, sizes and shapes", function()
  local a, b = tensor.ones({ 2, 3 }), tensor.ones({ 4, 5 })
  local function wrong(message, ...)
    local arguments, n = { ... }, select("#", ...)
    raises(function() tensor.einsum(unpack(arguments, 1, n)) end, "tensor_products_spec.lua:%d+: bad argument 'subscripts' to "
      .. "tensor.einsum: " .. message)
  end
  wrong("'j' is 3 in operand 1, of shape %(2, 3%), and 4 in operand 2, of shape %(4, 5%)", "ij,jk->ik", a, b)
  wrong("'i' is 2 in operand 1, of shape %(2, 3%), and 3 in operand 1", "ii", a)
  wrong("'k' of the result 'ik' is in no operand", "ij->ik", a)
  wrong("'i' occurs twice in the result 'ii'", "ij->ii", a)
  wrong("'ijk' does not have one letter for each dimension of operand 1, of shape %(2, 3%)", "ijk", a)
  wrong("'i' does not have one letter", "i", a)
  wrong("'ij,jk' has more operands than the 1 given", "ij,jk", a)
  wrong("'ij' has 1 operands, 2 are given", "ij", a, b)
  wrong("'1' in 'i1' is no letter", "i1", a)
  wrong("'>' in 'j>i' is no letter", "ij->j>i", a)
  wrong("the result 'i' lacks the '...'", "...i->i", a)
  wrong("'...' is 2 in operand 1, of shape %(2, 3%), and 4 in operand 2", "...i,...j", a, b)
  raises(function() tensor.einsum("i,i", tensor.ones(2), tensor.ones(2, { dtype = "float64" })) end, "float32 and float64 mixed")
  raises(function() tensor.einsum("i", 3) end, "bad argument 'operand 1' to tensor.einsum")
  raises(function() tensor.einsum("abcde,fghij->abcdefghij", tensor.ones({ 1, 1, 1, 1, 1 }), tensor.ones({ 1, 1, 1, 1, 1 })) end,
    "would have 10 dimensions")
end)

test("tensordot, inner, outer, kron and cross have their values", function()
  for _, dtype in ipairs(types) do
    for _, make in ipairs({ normal, spread }) do
      local a, b = make({ 2, 3, 4 }, dtype), make({ 3, 4, 5 }, dtype)
      close(a:tensordot(b), tensor.einsum("ijk,jkl->il", a, b), dtype)
      close(a:tensordot(b, { { 3, 2 }, { 2, 1 } }), tensor.einsum("ijk,jkl->il", a, b), dtype)
      close(a:tensordot(b, { { -1 }, { 2 } }), tensor.einsum("ijk,lkm->ijlm", a, b), dtype)
      close(a:tensordot(make({ 4 }, dtype):zero_(), 1), tensor.zeros({ 2, 3 }, { dtype = dtype }), dtype)
      close(make({ 2 }, dtype):fill_(2):tensordot(make({ 3 }, dtype):fill_(3), 0), tensor.full({ 2, 3 }, 6, { dtype = dtype }), dtype)
      close(a:inner(make({ 5, 4 }, dtype):fill_(1)), tensor.einsum("ijk->ij", a):unsqueeze(3) * tensor.ones(5, { dtype = dtype }), dtype)
      local u, v = make({ 3 }, dtype), make({ 3 }, dtype)
      near(u:inner(v):item(), u:dot(v), 1e-5)
      close(u:outer(a), tensor.einsum("i,j->ij", u, a:flatten()), dtype)
      local w = u:cross(v)
      near(w:dot(u), 0, 1e-5)
      near(w:dot(v), 0, 1e-5)
      near(w:norm() ^ 2, u:norm() ^ 2 * v:norm() ^ 2 - u:dot(v) ^ 2, 1e-4 * w:norm() ^ 2)
      equal(make({ 2, 3 }, dtype):cross(make({ 4, 1, 3 }, dtype)).shape, { 4, 2, 3 })
    end
  end
  equal(tensor.new({ 1, 0, 0 }):cross(tensor.new({ 0, 1, 0 })):totable(), { 0, 0, 1 })
  equal(tensor.new({ { 1, 2 }, { 3, 4 } }):kron(tensor.new({ { 0, 5 }, { 6, 7 } })):totable(),
    { { 0, 5, 0, 10 }, { 6, 7, 12, 14 }, { 0, 15, 0, 20 }, { 18, 21, 24, 28 } })
  equal(tensor.new({ 1, 10 }):kron(tensor.new({ { 1 }, { 2 } })):totable(), { { 1, 10 }, { 2, 20 } })
  equal(tensor.zeros({ 0, 2 }):kron(tensor.ones({ 3, 1 })).shape, { 0, 2 })
  equal(tensor.zeros(0):outer(tensor.ones(2)).shape, { 0, 2 })
  equal(tensor.zeros({ 2, 0 }):inner(tensor.zeros({ 3, 0 })):totable(), { { 0, 0, 0 }, { 0, 0, 0 } })
end)

test("wrong operands of these products are errors", function()
  local a = tensor.ones({ 2, 3 })
  local function wrong(message, body) raises(body, "tensor_products_spec.lua:%d+: " .. message) end
  wrong("bad argument to tensor.tensordot: dimension 2 of %(2, 3%) and dimension 1 of %(2, 3%) are summed over together, but are 3 and 2",
    function() a:tensordot(a, 1) end)
  wrong("bad argument 'dims' to tensor.tensordot: 1 dimensions of a and 2 of b", function()
    a:tensordot(a, { { 1 }, { 1, 2 } })
  end)
  wrong("bad argument 'dims%[1%]' to tensor.tensordot: dimension 1 is named twice", function()
    a:tensordot(a, { { 1, 1 }, { 1, 2 } })
  end)
  wrong("bad argument 'dims' to tensor.tensordot", function() a:tensordot(a, 3) end)
  wrong("bad argument 'dim' to tensor.tensordot", function() a:tensordot(a, { { 3 }, { 1 } }) end)
  wrong("bad argument to tensor.inner", function() a:inner(tensor.ones(2)) end)
  wrong("bad argument 'b' to tensor.outer: expected a tensor", function() a:outer(2) end)
  wrong("bad argument to tensor.cross: expected 3 in the last dimension of both, got shapes %(2, 3%) and %(2%)",
    function() a:cross(tensor.ones(2)) end)
  wrong("bad argument to tensor.cross: .*float64 mixed", function() a:cross(tensor.ones(3, { dtype = "float64" })) end)
  wrong("tensor.kron: an intermediate tensor would have 10 dimensions", function() tensor.ones({ 1, 1, 1, 1, 1 }):kron(a) end)
end)
