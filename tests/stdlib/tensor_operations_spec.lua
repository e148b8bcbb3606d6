--- Tensors: operations on empty tensors, on tensors of one element and on views, for every element type, and wrong
--- calls. numpy_spec.lua compares values with NumPy's.
local tensor = require("actor.tensor")
local is_compiled = require("is_compiled")

local types = { "float32", "float64", "int32", "int64", "uint8", "bool" }
local function wrong(pattern, body) raises(body, "^tensor_operations_spec.lua:%d+: .*" .. pattern) end

-- Elements 0, 1, 2, ... 119 of the type (bool: every third) of shape {4, 5, 6}.
local function counted(dtype)
  local t = tensor.arange(120):view(4, 5, 6)
  return dtype == "bool" and (t % 3):eq(0) or t:to(dtype)
end

-- Operations on a tensor of any type, as functions of the tensor.
local operations = {
  sort = function(t) return t:sort(1) end,
  argsort = function(t) return t:argsort() end,
  descending = function(t) return t:sort(2, true) end,
  cumsum = function(t) return t:cumsum(2) end,
  cumprod = function(t) return t:cumprod(1) end,
  diff = function(t) return t:diff(1) end,
  flip = function(t) return t:flip() end,
  roll = function(t) return t:roll(2, 2) end,
  rolled = function(t) return t:roll(-1) end,
  pad = function(t) return t:pad { { 1, 0 }, { 0, 2 }, { 1, 1 } } end,
  tile = function(t) return t:tile { 2, 1, 3 } end,
  interleave = function(t) return t:repeat_interleave(2, 3) end,
  concat = function(t) return tensor.concat({ t, t }, 3) end,
  stack = function(t) return tensor.stack({ t, t }, 4) end,
  split = function(t) return tensor.concat(t:split(2, 2), 2) end,
  chunk = function(t) return t:chunk(2, 3)[2] end,
  unique = function(t) return (t:unique()) end,
  inverse = function(t) return select(3, t:unique { inverse = true }) end,
  counts = function(t) return select(2, t:unique { counts = true }) end,
  nonzero = function(t) return t:nonzero() end,
  masked = function(t) return t[t:ne(t:flip(1))] end,
  take = function(t) return t:take(tensor.new({ t.shape[2], 1, 1 }), 2) end,
  gather = function(t) return t:gather(3, t:argsort(3)) end,
  where = function(t) return t:ne(t:flip()):where(t, t:flip(2)) end,
  sum = function(t) return t:sum { 1, 3 } end,
  prod = function(t) return t:prod(3) end,
  max = function(t) return t:max { 2, 3 } end,
  any = function(t) return t:any(2) end,
  all = function(t) return t:all { 1, 2 } end,
  var = function(t) return t:var { 1, 2 } end,
  median = function(t) return t:median(2) end,
  quantile = function(t) return t:quantile(0.25, { 3, 1 }, true) end,
  norm = function(t) return t:norm(2, true, 1) end,
  triu = function(t) return t:triu() end,
  permute = function(t) return t:permute(3, 1, 2) end,
  spread = function(t) return t:unsqueeze(1):broadcast_to { 2, unpack(t.shape) } end,
  scatter = function(t) return t:clone():scatter_(1, t:argsort(1), t:flip(2)) end,
  scatter_add = function(t) return t:clone():scatter_add_(2, t:argsort(2), t:flip(1)) end,
  put = function(t)
    local out = t:clone()
    out[t:eq(t:flip(2))] = t:flip(3)[t:eq(t:flip(2))]
    return out
  end,
}

for _, dtype in ipairs(types) do
  test("operations on views and on copies agree, " .. dtype, function()
    local whole = counted(dtype)
    local views = {
      whole:slice(1, 2, 4, 2), whole:slice(3, 2, 6, 3), whole:transpose(1, 3), whole:permute(2, 3, 1),
      whole:narrow(2, 3, 1):transpose(), whole:slice(1, 1, 1):slice(2, 2, 2):slice(3, 3, 3),
    }
    for name, operation in pairs(operations) do
      for i, view in ipairs(views) do
        local got, wanted = operation(view), operation(view:clone())
        if not (got.dtype == wanted.dtype and got:equal(wanted)) then
          error(("%s of view %d: %s instead of %s"):format(name, i, tostring(got), tostring(wanted)))
        end
      end
    end
  end)

  test("operations accept empty tensors, " .. dtype, function()
    for name, operation in pairs(operations) do
      if name ~= "median" and name ~= "quantile" and name ~= "max" and name ~= "var" then
        local out = operation(tensor.zeros({ 3, 5, 0 }, { dtype = dtype }))
        equal(out.size == 0 or out:sum() == 0 or name == "prod" or name == "all", name ~= "pad" or true)
      end
    end
    local none = tensor.zeros(0, { dtype = dtype })
    equal({ none:sort().shape, none:argsort().shape, none:nonzero().shape, none:cumsum(1).shape }, { { 0 }, { 0 }, { 0, 1 }, { 0 } })
    equal({ none:diff().shape, none:roll(3).shape, none:flip().shape, (none:unique()).shape }, { { 0 }, { 0 }, { 0 }, { 0 } })
    equal({ none:any(), none:all(), none:count_nonzero() }, { false, true, 0 })
    wrong("tensor.max: it has no elements", function() none:max() end)
    wrong("tensor.median: there are no elements in %(0%)", function() none:median() end)
  end)

  test("operations accept a tensor without dimensions, " .. dtype, function()
    local one = tensor.ones({}, { dtype = dtype })
    local value = one:item()
    equal({ one:sort():item(), one:argsort():item(), one:flip():item(), one:roll(2):item() }, { value, 1, value, value })
    equal({ one:nonzero().shape, one:tile(2):totable() }, { { 1, 0 }, { value, value } })
    equal({ one:median(), one:var(), one:any(), one:cumsum():totable() }, { 1, 0, true, { 1 } })
    equal(one:broadcast_to({ 2, 1 }):totable(), { { value }, { value } })
    equal(one[one:ne(tensor.zeros_like(one))]:totable(), { value })
    equal(tensor.stack({ one, one }):totable(), { value, value })
    equal((one:unique()):totable(), { value })
  end)
end

test("t[mask] = value writes one value, or values in order, also into views", function()
  local t = tensor.arange(6):view(2, 3)
  t[t:gt(3)] = -1
  equal(t:totable(), { { 0, 1, 2 }, { 3, -1, -1 } })
  t[t:lt(0)] = tensor.new { 7, 8 }
  equal(t:totable(), { { 0, 1, 2 }, { 3, 7, 8 } })
  t[tensor.new { false, true }] = tensor.new { 1, 2, 3 }
  equal(t:totable(), { { 0, 1, 2 }, { 1, 2, 3 } })
  t:transpose()[t:transpose():eq(2)] = 9
  equal(t:totable(), { { 0, 1, 9 }, { 1, 9, 3 } })
  local flags = tensor.new { true, false, true }
  flags[flags] = false
  equal(flags:any(), false)
  t[tensor.full({ 2, 3 }, false)] = 5
  equal(t:max(), 9)
  wrong("expected a tensor of bool, as comparisons give, got float32", function() return t[tensor.ones { 2, 3 }] end)
  wrong("its shape %(3%) is not that of the tensor's first dimensions, %(2, 3%)", function()
    t[tensor.new { true, true, true }] = 1
  end)
  wrong("the mask selects shape %(2, 3%); a value of shape %(2%) does not fit", function() t[t:lt(100):slice(2, 1, 1):squeeze(2)] = tensor.ones(2) end)
  wrong("bad argument 'value' to tensor: expected number, got string", function() t[t:gt(1)] = "x" end)
end)

test("NaN is above all numbers, and makes medians and quantiles NaN", function()
  local nan = 0 / 0
  local t = tensor.new({ nan, 3, -1, nan, 2 }, { dtype = "float64" })
  equal(t:sort():totable(), { -1, 2, 3, nan, nan })
  equal(t:sort(1, true):totable(), { 3, 2, -1, nan, nan })
  equal(t:argsort():totable(), { 3, 5, 2, 1, 4 })
  equal(t:argsort(1, true):totable(), { 2, 5, 3, 1, 4 })
  equal((t:unique()):totable(), { -1, 2, 3, nan })
  equal({ t:median(), t:quantile(0), t:max(), t:min() }, { nan, nan, nan, nan })
  equal(t:sort():searchsorted(tensor.new({ nan, 2.5 }, { dtype = "float64" })):totable(), { 4, 3 })
  equal(tensor.new({ 1, nan }):eq(nan):totable(), { false, false })
  equal(tensor.new({ nan, 0 }):to("bool"):totable(), { true, false })
end)

test("equal elements keep their order when sorted", function()
  local t = tensor.new({ 2, 1, 2, 1, 2 }, { dtype = "int32" })
  equal(t:argsort():totable(), { 2, 4, 1, 3, 5 })
  equal(t:argsort(1, true):totable(), { 1, 3, 5, 2, 4 })
end)

test("values at a repeated position add up in order, or the last value stays", function()
  local t = tensor.zeros(3, { dtype = "int64" })
  local at = tensor.new { 2, 2, 1 }
  equal(t:scatter_(1, at, tensor.new({ 5, 6, 7 }, { dtype = "int64" })):totable(), { 7, 6, 0 })
  equal(t:scatter_add_(1, at, 1):totable(), { 8, 8, 0 })
  local m = tensor.zeros({ 2, 3 })
  m:transpose():scatter_(1, tensor.new { { 3, 1 } }, tensor.new { { 1, 2 } })
  equal(m:totable(), { { 0, 0, 1 }, { 2, 0, 0 } })
end)

test("positions that overlap the result are read before they are written", function()
  local function two() return tensor.new({ 2, 1 }, { dtype = "int64" }) end
  local t = two()
  equal(t:scatter_(1, t, tensor.new({ 100, 200 }, { dtype = "int64" })):totable(), { 200, 100 })
  t = two()
  equal(t:scatter_add_(1, t, t):totable(), { 3, 3 })
  t = two()
  equal(t:index_add_(t, tensor.new({ 100, 200 }, { dtype = "int64" })):totable(), { 202, 101 })
  t = tensor.new({ 2, 1 })
  equal(t:index_add_(t, t):totable(), { 3, 3 })
end)

test("histograms count the elements in their range", function()
  local counts, edges = tensor.new({ 1, 2, 1, 0 / 0, 9 }):histogram(2, { low = 0, high = 2 })
  equal({ counts:totable(), counts.dtype, edges:totable() }, { { 0, 3 }, "int64", { 0, 1, 2 } })
  counts = tensor.new({ 5, 5 }, { dtype = "int32" }):histogram(3)
  equal(counts:totable(), { 0, 2, 0 })
  counts = tensor.new({ 1, 3 }):histogram(tensor.new { 0, 2, 4 }, { weights = tensor.new { 0.5, 2 } })
  equal(counts:totable(), { 0.5, 2 })
  equal((tensor.zeros(0):histogram(2)):totable(), { 0, 0 })
  wrong("tensor.histogram: the elements range from nan to nan", function() tensor.new({ 0 / 0 }):histogram(2) end)
  wrong("'bins' to tensor.histogram: expected at least 2 edges", function() tensor.ones(2):histogram(tensor.ones(1)) end)
end)

test("errors of wrong calls name the expected and the given value", function()
  local t = tensor.ones { 2, 3 }
  wrong("tensor.sum: dimension 2 is named twice", function() t:sum { 2, -1 } end)
  wrong("bad argument 'dim' to tensor.sum: expected an integer from 1 to 2", function() t:sum { 1, 3 } end)
  wrong("tensor.permute: expected 2 dimensions for shape %(2, 3%), got 1", function() t:permute(1) end)
  wrong("tensor.permute: dimension 1 is named twice", function() t:permute(1, 1) end)
  wrong("tensor.broadcast_to: %(2, 3%) does not stretch to %(3, 2%)", function() t:broadcast_to { 3, 2 } end)
  wrong("tensor.broadcast_to: %(2, 3%) does not stretch to %(3%)", function() t:broadcast_to { 3 } end)
  wrong("tensor.concat: expected at least one tensor", function() tensor.concat {} end)
  wrong("tensor.concat: shapes %(2, 3%) and %(3, 2%) differ outside dimension 1", function()
    tensor.concat { t, t:transpose() }
  end)
  wrong("tensor.concat: float32 and float64 mixed", function() tensor.concat { t, t:to("float64") } end)
  wrong("bad argument 'parts%[2%]' to tensor.stack: expected a tensor, got number", function() tensor.stack { t, 1 } end)
  wrong("tensor.stack: shapes %(2, 3%) and %(3, 2%) differ", function() tensor.stack { t, t:transpose() } end)
  wrong("tensor.split: they add up to 4, dimension 2 of %(2, 3%) has 3", function() t:split({ 2, 2 }, 2) end)
  wrong("bad argument 'sizes' to tensor.split", function() t:split(0) end)
  wrong("bad argument 'count' to tensor.chunk", function() t:chunk(0) end)
  wrong("'counts' to tensor.repeat_interleave: expected shape %(2%), got %(3%)", function()
    t:repeat_interleave(tensor.ones(3))
  end)
  wrong("'widths' to tensor.pad: expected 2 pairs for shape %(2, 3%), got 1", function() t:pad { { 1, 1 } } end)
  wrong("bad argument 'mode' to tensor.pad", function() t:pad({ { 0, 0 }, { 1, 1 } }, { mode = "wrap" }) end)
  wrong("dimension 1 of %(0, 3%) is empty, so there is nothing to repeat", function()
    tensor.zeros({ 0, 3 }):pad({ { 1, 0 }, { 0, 0 } }, { mode = "edge" })
  end)
  wrong("tensor.gather: its shape %(3, 3%) must be the tensor's, %(2, 3%), except in dimension 2", function()
    t:gather(2, tensor.ones { 3, 3 })
  end)
  wrong("'index' to tensor.gather: expected whole numbers from 1 to 3, got 4 at position 2", function()
    t:gather(2, tensor.new { { 1, 4 }, { 1, 1 } })
  end)
  wrong("'source' to tensor.scatter_: its shape %(1%) is not that of the index, %(2, 1%)", function()
    t:scatter_(2, tensor.ones { 2, 1 }, tensor.ones(1))
  end)
  wrong("tensor.where: shapes %(2, 3%), %(2%) and %(2%) do not fit", function() t:where(tensor.ones(2), tensor.ones(2)) end)
  wrong("bad argument 'a' to tensor.where: expected number, got nil", function() t:where(nil, 1) end)
  wrong("'t' to tensor.trace: expected 2 dimensions, got %(3%)", function() tensor.ones(3):trace() end)
  wrong("'t' to tensor.diag: expected 1 or 2 dimensions", function() tensor.ones({ 1, 1, 1 }):diag() end)
  wrong("'t' to tensor.tril: expected 2 dimensions or more, got %(3%)", function() tensor.ones(3):tril() end)
  wrong("bad argument 'q' to tensor.quantile", function() t:quantile(1.5) end)
  wrong("'t' to tensor.bincount: expected whole numbers from 1, got 0", function() tensor.zeros(2):bincount() end)
  wrong("'t' to tensor.searchsorted: expected 1 dimension", function() t:searchsorted(1) end)
  wrong("tensor.meshgrid: expected 1 dimension, got %(2, 3%)", function() tensor.meshgrid { t } end)
  wrong("bad argument 'descending' to tensor.sort: expected boolean", function() t:sort(1, 1) end)
  wrong("bad argument 'p' to tensor.norm", function() t:norm(1, false, -1) end)
  wrong("bad argument 'order' to tensor.diff", function() t:diff(1, -1) end)
end)

test("loops over elements of every type are compiled", function()
  if not jit.status() or spec_mode == "collector" then return equal(true, true) end
  for _, dtype in ipairs { "int32", "int64", "uint8", "float32" } do
    local t = tensor.zeros(1000, { dtype = dtype })
    equal(is_compiled(function()
      for i = 1, 1000 do t:set(i, t:get(i) + 1) end
    end), true, dtype)
  end
  local a, b = tensor.ones({ 4, 4 }, { dtype = "int32" }), tensor.ones(4, { dtype = "int32" })
  equal(is_compiled(function()
    local total = 0
    for _ = 1, 1000 do total = total + ((a + b) * 2):eq(4):sum() end
    return total
  end), true, "whole numbers")
end)
