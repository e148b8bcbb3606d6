--- Tensors beside NumPy: the expressions of numpy_cases.txt must give NumPy's results, stored in numpy_cases.npz. Each
--- name on the page of names (stdlib/actor/tensor/NUMPY.md) has a case.
local tensor = require("actor.tensor")
local text_file = require("text_file")

local folder = source_dir .. "/tests/stdlib/"
local stored = tensor.load(folder .. "numpy_cases.npz")

-- Like `up` of numpy_cases.py.
local function up(left, right)
  local sign = left:sum(-2):lt(0):to("float64") * -2 + 1
  return left * sign:unsqueeze(-2), right * sign:unsqueeze(-1)
end

-- The environment of the cases' Lua expressions.
local scope = setmetatable({ tensor = tensor, unpack = unpack, select = select, math = math, up = up }, {
  __index = function(_, name) return stored["in." .. name] or error("no variable " .. name) end,
})

local function number_of(value)
  if type(value) == "cdata" then return tonumber(value) end
  return value
end

-- The tolerance of a result, by element type and name: decompositions differ more.
local function tolerance_of(name, dtype)
  local factor = name:find("^linalg%.") and 50 or 1
  return (dtype == "float32" and 2e-6 or 1e-12) * factor
end

-- Compares a result with NumPy's, up to the tolerance.
local function compare(name, ours, got, wanted)
  local tolerance = tolerance_of(name, wanted.dtype)
  if not tensor.is_tensor(got) then
    equal(wanted.ndim, 0, ours)
    local value = wanted:item()
    if type(value) == "boolean" then return equal(got, value, ours) end
    got, value = number_of(got), number_of(value)
    if got == value or got ~= got and value ~= value then return end
    return near(got, value, tolerance * math.max(1, math.abs(value)), ours)
  end
  equal({ got.dtype, got.shape }, { wanted.dtype, wanted.shape }, ours)
  local exact = wanted.dtype ~= "float32" and wanted.dtype ~= "float64"
  local options = exact and { rtol = 0, atol = 0 } or { rtol = tolerance, atol = tolerance, nan = true }
  if not got:allclose(wanted, options) then
    error(("%s:\n%s\nNumPy:\n%s"):format(ours, tostring(got), tostring(wanted)), 2)
  end
end

local known, at = {}, 0
for line in text_file.read(folder .. "numpy_cases.txt"):gmatch("[^\n]+") do
  if not line:find("^#") then
    local name, numpy, ours = line:match("^(.-) | (.*) | (.-)%s*$")
    at = at + 1
    known[name] = true
    local number = at
    test(("%d: %s is NumPy's %s"):format(number, ours, numpy), function()
      local chunk = assert(loadstring("return " .. ours, "=" .. ours))
      local results = { setfenv(chunk, scope)() }
      local count = 0
      while stored[("out.%d.%d"):format(number, count + 1)] do count = count + 1 end
      equal(#results, count)
      for k = 1, count do compare(name, ours, results[k], stored[("out.%d.%d"):format(number, k)]) end
    end)
  end
end

test("text equals NumPy's", function()
  local number = 1
  while stored["print." .. number] do
    local t = stored["print." .. number]
    local text = tostring(t):gsub(", shape=%b()", ""):gsub(", %w+%)$", ""):gsub("^tensor%(", "")
    equal(text, (stored["text." .. number]:bytes():gsub("True", "true"):gsub("False", "false")), "text " .. number)
    number = number + 1
  end
end)

test("each name of the page NUMPY.md has a case, and each case is on the page", function()
  local page, named = text_file.read(source_dir .. "/stdlib/actor/tensor/NUMPY.md"), {}
  page = page:match("^(.-)\n## Random")  -- random numbers differ from NumPy's
  for row in page:gmatch("\n(|[^\n]+)") do
    local first = row:match("^|%s*(.-)%s*|")
    for name in first:gmatch("`([^`]+)`") do
      named[name] = true
      if not known[name] then error("no case for " .. name .. " in tests/stdlib/numpy_cases.txt") end
    end
  end
  for name in pairs(known) do
    if not named[name] then error(name .. " has a case and is not on stdlib/actor/tensor/NUMPY.md") end
  end
end)
