--- Products, linear algebra and sparse matrices beside NumPy: what numpy_linalg.txt says gives the results of NumPy
--- that numpy_linalg.npz has. The page of names (stdlib/actor/tensor/NUMPY-linalg.md) has no name without a case.
local tensor = require("actor.tensor")
local data = require("actor.data")

local folder = source_dir .. "/tests/stdlib/"
local stored = data.npz.load(folder .. "numpy_linalg.npz")

local function text_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- As numpy_linalg.py's.
local function up(left, right)
  local sign = left:sum(-2):lt(0):to("float64") * -2 + 1
  return left * sign:unsqueeze(-2), right * sign:unsqueeze(-1)
end

-- What the cases' Lua sees.
local scope = setmetatable({ tensor = tensor, select = select, math = math, up = up }, {
  __index = function(_, name) return stored["in." .. name] or error("no variable " .. name) end,
})

local function compare(name, got, wanted)
  if not tensor.is_tensor(got) then
    equal(wanted.ndim, 0, name)
    return near(got, wanted:item(), 1e-11 * math.max(1, math.abs(wanted:item())), name)
  end
  equal({ got.dtype, got.shape }, { wanted.dtype, wanted.shape }, name)
  local tolerance = wanted.dtype == "float32" and 1e-5 or 1e-10
  if not got:allclose(wanted, { rtol = tolerance, atol = tolerance }) then
    error(("%s:\n%s\nNumPy:\n%s"):format(name, tostring(got), tostring(wanted)), 2)
  end
end

local known, at = {}, 0
for line in text_of(folder .. "numpy_linalg.txt"):gmatch("[^\n]+") do
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
      for k = 1, count do compare(ours, results[k], stored[("out.%d.%d"):format(number, k)]) end
    end)
  end
end

test("each name of the page NUMPY-linalg.md has a case, and each case is on the page", function()
  local page, named = text_of(source_dir .. "/stdlib/actor/tensor/NUMPY-linalg.md"), {}
  page = page:match("^(.-)\n## Random") or page  -- random numbers are other ones
  for row in page:gmatch("\n(|[^\n]+)") do
    for name in row:match("^|%s*(.-)%s*|"):gmatch("`([^`]+)`") do
      named[name] = true
      if not known[name] then error("no case for " .. name .. " in tests/stdlib/numpy_linalg.txt") end
    end
  end
  for name in pairs(known) do
    if not named[name] then error(name .. " has a case and is not on stdlib/actor/tensor/NUMPY-linalg.md") end
  end
end)
