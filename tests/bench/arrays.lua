-- Tensor operations beside NumPy's, in turns in one run, each on one thread; microseconds, the least of all turns.
-- Results are written into existing arrays (`out`) unless the name states otherwise. Without NumPy (python3-numpy) the
-- job measures only our side. Usage, in the root of the tree:
--   actorhost -n 1 --threads-per-node 1 --log-level warn tests/bench/arrays.lua [PYTHON [TURNS]]
-- The last table shows operations on 26 MB of float32: bytes read and written a second, beside memcpy's.
local actor = require("actor")
local ffi = require("ffi")
local tensor, now = actor.tensor, actor.now

local kCount, kSide = 1000000, 1000

-- arrays_numpy.py has the same operands and operations.
local function operations(dtype)
  local as = { dtype = dtype }
  local x = tensor.arange(1, kCount + 1, 1, as) * 0.37
  for i = 1, kCount do x:set(i, x:get(i) % 4 - 2) end
  local y, positive = x * 0.5 + 0.25, x:abs() + 0.1
  local m = x:view(kSide, kSide)
  local turned, wide, side = m:transpose(), tensor.zeros({ kCount * 2 }, as), m:select(1, 1):contiguous()
  local every_second = wide:slice(1, 1, 2 * kCount, 2)
  local out, square = tensor.empty({ kCount }, as), tensor.empty({ kSide, kSide }, as)
  local truth = tensor.empty({ kCount }, { dtype = "bool" })
  local mask, places = x:gt(0), tensor.permutation(kCount, { seed = 1 })
  local other = tensor.empty({ kCount }, { dtype = dtype == "float32" and "float64" or "float32" })
  local list = {
    { "a new array: add", function() return x + y end }, { "a new array: lt", function() return x:lt(y) end },
    { "div", function() return x:div(positive, out) end }, { "add row", function() return m:add(side, square) end },
    { "add transposed", function() return m:add(turned, square) end },
    { "pow", function() return positive:pow(y, out) end }, { "gt number", function() return x:gt(0, truth) end },
    { "exp every second", function() return every_second:exp(out) end },
    { "a new array: where", function() return tensor.where(mask, x, y) end },
    { "a new array: take", function() return x:take(places) end },
    { "a new array: sort", function() return x:take(places):sort() end },
    { "copy", function() return out:copy_(x) end }, { "copy transposed", function() return square:copy_(turned) end },
    { "copy every second", function() return out:copy_(every_second) end },
    { "convert", function() return other:copy_(x) end },
    { "equal", function() return x:equal(x) end }, { "allclose", function() return x:allclose(x) end },
    { "argmax", function() return x:argmax() end }, { "argmin", function() return x:argmin() end },
    { "softmax", function() return m:softmax(square) end },
    { "dot", function() return x:dot(y) end }, { "matrix-vector", function() return m:matmul(side) end },
    { "vector-matrix", function() return side:matmul(m) end },
    { "transposed-vector", function() return turned:matmul(side) end },
  }
  for _, name in ipairs({ "neg", "abs", "square", "exp", "tanh", "sigmoid", "relu", "sign" }) do
    list[#list + 1] = { name, function() return x[name](x, out) end }
  end
  for _, name in ipairs({ "sqrt", "log" }) do list[#list + 1] = { name, function() return positive[name](positive, out) end } end
  for _, name in ipairs({ "add", "mul", "maximum", "lt", "eq" }) do
    local to = (name == "lt" or name == "eq") and truth or out
    list[#list + 1] = { name, function() return x[name](x, y, to) end }
  end
  for _, name in ipairs({ "sum", "max", "norm" }) do
    list[#list + 1] = { name, function() return x[name](x) end }
    list[#list + 1] = { name .. " of rows", function() return m[name](m, 2) end }
    list[#list + 1] = { name .. " of columns", function() return m[name](m, 1) end }
  end
  list[#list + 1] = { "argmax of rows", function() return m:argmax(2) end }
  list[#list + 1] = { "argmax of columns", function() return m:argmax(1) end }
  for _, kind in ipairs({ "int32", "int64", "uint8" }) do
    local whole = (x * 50 + 100):to(kind)
    for _, name in ipairs({ "argmax", "max", "sum" }) do
      list[#list + 1] = { name .. " of " .. kind, function() return whole[name](whole) end }
    end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

-- The least time of several calls.
local function best(f)
  f()
  local least, calls, start = math.huge, 0, now()
  repeat
    local from = now()
    f()
    least = math.min(least, now() - from)
    calls = calls + 1
  until calls >= 5 and now() - start > 0.02
  collectgarbage()
  return least
end

local python = ...
local turns = tonumber(select(2, ...) or 3)

local function has_numpy(program) return os.execute(program .. " -c 'import numpy' 2>/dev/null") == 0 end

if not python then
  for _, program in ipairs({ "python3", "/usr/bin/python3" }) do python = python or has_numpy(program) and program end
  if not python then print("NumPy is not installed: no yardstick") end
end

local function numpy_turn(dtype, least)
  local pipe = assert(io.popen(("OPENBLAS_NUM_THREADS=1 %s tests/bench/arrays_numpy.py %s"):format(python, dtype)))
  for line in pipe:lines() do
    local name, seconds = line:match("^(.-)\t(%S+)$")
    least[name] = math.min(least[name] or math.huge, tonumber(seconds))
  end
  pipe:close()
end

for _, dtype in ipairs({ "float32", "float64" }) do
  local ours, theirs, list = {}, {}, operations(dtype)
  for _ = 1, turns do
    for _, op in ipairs(list) do ours[op[1]] = math.min(ours[op[1]] or math.huge, best(op[2])) end
    if python then numpy_turn(dtype, theirs) end
  end
  print(("%s, %d elements, us      ours   NumPy   NumPy / ours"):format(dtype, kCount))
  for _, op in ipairs(list) do
    local mine, yardstick = ours[op[1]], theirs[op[1]]
    print(("%-24s %12.0f %7s %7s"):format(op[1], mine * 1e6, yardstick and ("%.0f"):format(yardstick * 1e6) or "-",
      yardstick and ("%.2fx"):format(yardstick / mine) or ""))
  end
end

local function large_arrays()
  local count = 6500000
  local x, y, out = tensor.uniform(count, { seed = 1 }), tensor.uniform(count, { seed = 2 }), tensor.zeros(count)
  local bytes = count * ffi.sizeof("float")
  local list = {
    { "memcpy", 2, function() ffi.copy(out:data(), x:data(), bytes) end },
    { "copy", 2, function() out:copy_(x) end }, { "scale", 2, function() x:mul(2, out) end },
    { "relu", 2, function() x:relu(out) end }, { "add", 3, function() x:add(y, out) end },
    { "mul", 3, function() x:mul(y, out) end }, { "add in place", 3, function() out:add_(x) end },
    { "sum", 1, function() return x:sum() end },
  }
  local least = {}
  for _ = 1, turns do
    for i, op in ipairs(list) do least[i] = math.min(least[i] or math.huge, best(op[3])) end
  end
  print("26 MB of float32           us   GB/s   beside memcpy")
  for i, op in ipairs(list) do
    print(("%-20s %8.0f %6.1f %7.2fx"):format(op[1], least[i] * 1e6, op[2] * bytes / least[i] * 1e-9,
      op[2] / 2 * least[1] / least[i]))
  end
end
large_arrays()
