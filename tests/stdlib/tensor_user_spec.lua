--- Typical first attempts of NumPy and PyTorch users: each call works, or its error names the replacement.
local tensor = require("actor.tensor")
local names = require("actor.tensor.names")

local types = { "float32", "float64", "int32", "int64", "uint8", "bool" }
local function wrong(pattern, body) raises(body, "^tensor_user_spec.lua:%d+: " .. pattern) end

test("each listed name of NumPy or PyTorch is unknown, and its error suggests an existing name", function()
  for name, ours in pairs(names.ours) do
    local owner, known = ours:match("^(%w+)[.:]([%w_]+)")
    equal(rawget(tensor, name), nil, name)
    raises(function() return tensor.ones(2)[name] end, "there is no tensor:" .. name .. ": use ")
    raises(function() return tensor[name] end, "there is no tensor%." .. name .. ": use ")
    equal((owner == "tensor" and tensor or tensor.ones(2))[known] ~= nil, true, ours)
  end
  wrong("there is no tensor%.arrange; did you mean tensor%.arange%?", function() tensor.arrange(3) end)
  wrong("there is no tensor:summ; did you mean tensor:sum%?", function() tensor.ones(2):summ() end)
end)

test("axis= is not accepted as a dimension, and ipairs does not accept a tensor", function()
  local x = tensor.ones({ 2, 3 })
  for _, name in ipairs({ "sum", "max", "mean", "any", "flip", "median" }) do
    wrong("bad argument 'dim' to tensor%." .. name .. ": expected a list of dimensions, .*'axis'", function()
      x[name](x, { axis = 1 })
    end)
  end
  equal(x:sum({}):equal(x), true)
  wrong("ipairs takes a table: use for i, row in t:iter%(%)", function() for _ in ipairs(x) do break end end)
end)

test("shapes of several numbers and names of element types are passed in tables", function()
  for _, name in ipairs({ "zeros", "ones", "empty" }) do
    wrong("bad argument 'options' to tensor%." .. name .. ": .*; put sizes in a table", function()
      tensor[name](2, 3)
    end)
    wrong("bad argument 'options' to tensor%." .. name .. ": .* type is {dtype = 'int32'}", function()
      tensor[name](2, "int32")
    end)
  end
  equal(tensor.linspace(0, 1, 0).shape, { 0 })
  equal(tensor.linspace(3, 9, 1):totable(), { 3 })
end)

test("errors of counting functions name the invalid elements", function()
  wrong("bad argument 't' to tensor%.bincount: expected whole numbers from 1, got a fraction", function()
    tensor.new({ 1.5, 1 }):bincount()
  end)
  wrong("bad argument 't' to tensor%.bincount: expected whole", function() tensor.new({ 0 / 0, 1 }):bincount() end)
  wrong("bad argument to tensor%.histogram: the elements range from nan to nan; give 'low' and 'high'", function()
    tensor.new({ 1, 0 / 0 }):histogram(2)
  end)
  wrong("bad argument 'population' to tensor%.choice: expected a tensor or how many, got table", function()
    tensor.choice({ 1, 2 }, 1)
  end)
  wrong("bad argument to t%[%.%.%.%] = value: shapes %(2%) and %(3%) do not fit", function()
    local t = tensor.zeros({ 3, 3 })
    t[{ 1, { 1, 2 } }] = tensor.ones(3)
  end)
end)

test("errors for mismatched masks name both shapes", function()
  local x = tensor.arange(12):view(3, 4)
  wrong("bad argument to t%[mask%] = value: the mask selects shape %(6%); a value of shape %(2%) does not fit",
    function() x[x:gt(5)] = tensor.ones(2) end)
  wrong("bad argument 'mask' .* its shape %(2%) is not that of the tensor's first dimensions, %(3, 4%)",
    function() return x[tensor.new { true, false }] end)
  wrong("bad argument 'index' to tensor%.take: expected positions, got a tensor of bool %(t:masked takes a mask%)",
    function() x:take(tensor.new { true, false, true }) end)
  wrong("bad argument 'index' to tensor%.gather: expected positions, got a tensor of bool",
    function() x:gather(1, x:gt(3)) end)
  x:transpose()[x:transpose():gt(5)] = tensor.new { -1, -2, -3, -4, -5, -6 }
  equal(x:totable(), { { 0, 1, 2, 3 }, { 4, 5, -3, -5 }, { -1, -2, -4, -6 } })
end)

test("the error of a mismatched in-place operation does not mention an `out` argument", function()
  wrong("bad argument to tensor%.add_: a tensor %(3%) float32 cannot take the result", function()
    tensor.ones(3):add_(tensor.ones({ 2, 3 }))
  end)
  wrong("bad argument 'out' to tensor%.add: a tensor %(2%) float32 cannot take", function()
    tensor.ones(3):add(1, tensor.ones(2))
  end)
end)

test("outer, kron and cross of whole numbers are exact, and errors of sums of products name the conversion", function()
  for _, dtype in ipairs({ "int32", "int64", "uint8" }) do
    local a, b = tensor.new({ 1, 2, 3 }, { dtype = dtype }), tensor.new({ 4, 5, 6 }, { dtype = dtype })
    local spread = tensor.new({ { 4, 0 }, { 5, 0 }, { 6, 0 } }, { dtype = dtype }):select(2, 1)
    for _, right in ipairs({ b, spread }) do
      local outer = a:outer(right)
      equal({ outer.dtype, outer:totable() }, { dtype, { { 4, 5, 6 }, { 8, 10, 12 }, { 12, 15, 18 } } })
      equal(a:kron(right):equal(outer:flatten()), true)
    end
    if dtype ~= "uint8" then equal(a:cross(spread):totable(), { -3, 6, -3 }) end
    equal(a:cross(b).dtype, dtype)
    equal(a:outer(tensor.zeros(0, { dtype = dtype })).shape, { 3, 0 })
    wrong("bad argument to tensor%.dot: it does not take a tensor of " .. dtype .. "; a:to%('int64'%):mul%(b%):sum",
      function() a:dot(b) end)
    equal(a:to("int64"):mul(b):sum(), 32)
    wrong("bad argument to tensor%.matmul: it does not take a tensor of " .. dtype .. "; convert it",
      function() a:matmul(b) end)
    for name, body in pairs({
      inner = function() a:inner(b) end,
      tensordot = function() a:tensordot(b, 1) end,
      einsum = function() tensor.einsum("i,i", a, b) end,
    }) do
      wrong("bad argument '.*' to tensor%." .. name .. ": expected float32 or float64, got " .. dtype
        .. "; convert it with t:to%('float64'%)", body)
    end
  end
  equal(tensor.new({ 2 ^ 40 }, { dtype = "int64" }):outer(tensor.new({ 3 }, { dtype = "int32" })):item(), 3 * 2 ^ 40)
  equal(tensor.new({ true, false }):outer(tensor.new { true }):totable(), { { true }, { false } })
  equal(tensor.new({ 1, 0, 0 }, { dtype = "int32" }):cross(tensor.new({ 0, 1, 0 }, { dtype = "int64" })).dtype, "int64")
  wrong("bad argument to tensor%.outer: float64 and float32 mixed", function()
    tensor.ones(2, { dtype = "float64" }):outer(tensor.ones(2))
  end)
end)

test("take and gather accept the positions that argsort, unique and nonzero return, of views too", function()
  for _, dtype in ipairs(types) do
    local base = tensor.integers({ 5, 6 }, 0, 4, { seed = 3 }):to(dtype)
    for _, t in ipairs({ base, base:transpose(), base:slice(2, 1, -1, 2), base:slice(1, 1, 1), base:slice(1, 1, 0) }) do
      for dim = 1, 2 do
        equal(t:gather(dim, t:argsort(dim)):equal(t:sort(dim)), true, dtype)
        equal(t:gather(dim, t:argsort(dim, true)):equal(t:sort(dim, true)), true, dtype)
      end
      local flat = t:flatten()
      local values, counts, inverse = t:unique { counts = true, inverse = true }
      equal(values:take(inverse:flatten()):equal(flat), true, dtype)
      equal({ inverse.dtype, inverse.shape, counts:sum() }, { "int64", t.shape, t.size })
      local mask = t:to("bool")
      equal(t:masked(mask):equal(flat:take(mask:flatten():nonzero():flatten())), true, dtype)
      equal(tensor.where(mask, t, tensor.zeros_like(t)):equal(t), true, dtype)
    end
  end
end)

test("a product of two vectors is the sum of products, also of views and as matrices", function()
  for _, dtype in ipairs({ "float32", "float64" }) do
    for _, n in ipairs({ 0, 1, 2, 31, 33, 4095, 4097, 9000 }) do
      local x = tensor.integers({ n, 2 }, -3, 3, { seed = 1, dtype = dtype }):select(2, 2)
      local y = tensor.integers({ 3, n }, -3, 3, { seed = 2, dtype = dtype }):select(1, 3)
      local wanted = (x * y):sum()
      equal({ x:dot(y), y:dot(x), x:contiguous():dot(y) }, { wanted, wanted, wanted })
      equal(y:view(1, n):matmul(x:contiguous():view(n, 1)):totable(), { { wanted } })
      equal(y:view(n, 1):matmul(y:view(n, 1), { ta = true }):totable(), { { y:square():sum() } })
    end
  end
end)
