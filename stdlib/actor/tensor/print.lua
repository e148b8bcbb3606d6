--- Tensors as text, in the manner of NumPy: aligned columns, long dimensions shortened.
local base = require("actor.tensor.base")

local methods = base.methods
local floor, abs = math.floor, math.abs

local max_elements = 1000  -- more are shortened
local edge = 3             -- to so many at each end of a dimension

-- Calls f(i) for the positions of a dimension that are shown; f(nil) stands for those left out.
local function shown(n, short, f)
  if not short or n <= 2 * edge then
    for i = 1, n do f(i) end
    return
  end
  for i = 1, edge do f(i) end
  f(nil)
  for i = n - edge + 1, n do f(i) end
end

-- Calls f(x) for each element that is shown.
local function visit(t, short, f)
  if t.ndim == 0 then return f(t:item()) end
  shown(#t, short, function(i)
    if i == nil then return end
    local part = t[i]
    if t.ndim == 1 then f(part) else visit(part, short, f) end
  end)
end

-- The format that shows all these numbers with few digits: whole, fixed or scientific.
local function format_of(t, short)
  local largest, smallest, whole = 0, math.huge, true
  visit(t, short, function(x)
    if x - x ~= 0 then return end
    local size = abs(x)
    if x ~= floor(x) then whole = false end
    if size > largest then largest = size end
    if size ~= 0 and size < smallest then smallest = size end
  end)
  if whole and largest < 1e8 then return "%.0f." end
  if largest >= 1e8 or (smallest < 1e-4) or largest / smallest > 1e6 then return "%.4e" end
  return "%.4f"
end

local function number_text(x, format)
  if x ~= x then return "nan" end
  if x == math.huge then return "inf" end
  if x == -math.huge then return "-inf" end
  return format:format(x)
end

local function lines_of(t, short, format, width, indent)
  local parts = {}
  local last = t.ndim == 1
  shown(#t, short, function(i)
    if i == nil then
      parts[#parts + 1] = "..."
    elseif last then
      local text = number_text(t[i], format)
      parts[#parts + 1] = (" "):rep(width - #text) .. text
    else
      parts[#parts + 1] = lines_of(t[i], short, format, width, indent + 1)
    end
  end)
  local separator = last and ", " or "," .. ("\n"):rep(t.ndim - 1) .. (" "):rep(indent)
  return "[" .. table.concat(parts, separator) .. "]"
end

---Writes the tensor as text: what tostring and print show.
---@return string
function methods.tostring(t)
  base.arg(t, "t", "tensor.tostring")
  if t.context_ == nil then return "tensor(empty)" end
  if t.ndim == 0 then return ("tensor(%s, %s)"):format(number_text(t:item(), format_of(t)), t.dtype) end
  if t.size == 0 then return ("tensor([], shape=%s, %s)"):format(base.shape_text(t), t.dtype) end
  local short = t.size > max_elements
  local format, width = format_of(t, short), 0
  visit(t, short, function(x) width = math.max(width, #number_text(x, format)) end)
  local body = lines_of(t, short, format, width, #"tensor([")
  return ("tensor(%s, %s%s)"):format(body, short and "shape=" .. base.shape_text(t) .. ", " or "", t.dtype)
end

return methods
