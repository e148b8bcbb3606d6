--- Tensors as text, as NumPy writes them: columns of one width, the fewest digits that identify an element (at most 8
--- after the point), lines of at most 75 characters, and shortened long dimensions.
local base = require("actor.tensor.base")
local numbers = require("actor.numbers")

local methods = base.methods
local abs, max = math.abs, math.max

local max_elements = 1000  -- larger tensors are shortened
local edge = 3             -- shown elements at each end of a shortened dimension
local precision = 8
local line_width = 75
local name = "tensor("

-- Calls f(i) for each shown position of a dimension, and f(nil) in place of the omitted positions.
local function shown(n, short, f)
  if not short or n <= 2 * edge then
    for i = 1, n do f(i) end
    return
  end
  for i = 1, edge do f(i) end
  f(nil)
  for i = n - edge + 1, n do f(i) end
end

-- Calls f(x) for each shown element.
local function visit(t, short, f)
  if t.ndim == 0 then return f(t:item()) end
  shown(#t, short, function(i)
    if i == nil then return end
    local part = t[i]
    if t.ndim == 1 then f(part) else visit(part, short, f) end
  end)
end

-- The shortest text of x, with 0, 1, .. `most` digits after the point, that converts back to x in its element type.
local function shortest(x, letter, is_single, most)
  local text
  for digits = 0, most do
    text = ("%." .. digits .. letter):format(x)
    if numbers.is_text_of(text, x, is_single) then return text end
  end
  return (text:gsub("(%.%d-)0+$", "%1"):gsub("(%.%d-)0+e", "%1e"))
end

local function special(x) return x ~= x and "nan" or x > 0 and "inf" or "-inf" end

-- The lengths of a number's text before the point and after it.
local function parts(text)
  local whole, behind = text:match("^(%-?%d+)%.?(%d*)")
  return #whole, #behind
end

-- A function that writes the shown elements, all with one width.
local function float_writer(t, short)
  local is_single = t.type_ == base.dtypes.float32
  local largest, smallest, width_of_special = 0, math.huge, 0
  visit(t, short, function(x)
    local size = abs(x)
    if x - x ~= 0 then
      width_of_special = max(width_of_special, #special(x))
    elseif size ~= 0 then
      largest, smallest = max(largest, size), math.min(smallest, size)
    end
  end)
  local scientific = largest ~= 0 and (largest >= 1e8 or smallest < 1e-4 or largest / smallest > 1000)
  local letter = scientific and "e" or "f"
  local left, right = 0, 0
  visit(t, short, function(x)
    if x - x ~= 0 then return end
    local whole, behind = parts(shortest(x, letter, is_single, precision))
    left, right = max(left, whole), max(right, behind)
  end)
  local function number(x)
    if scientific then
      local text = ("%." .. right .. "e"):format(x)
      return right == 0 and text:gsub("e", ".e", 1) or text
    end
    local text = shortest(x, "f", is_single, right)
    if not text:find(".", 1, true) then text = text .. "." end
    local _, behind = parts(text)
    return text .. (" "):rep(right - behind)
  end
  local width = width_of_special
  visit(t, short, function(x) if x - x == 0 then width = max(width, #number(x)) end end)
  return function(x)
    local text = x - x == 0 and number(x) or special(x)
    return (" "):rep(width - #text) .. text
  end
end

local function plain(x) return (tostring(x):gsub("LL$", "")) end

local function writer(t, short)
  if base.is_float(t.type_) then return float_writer(t, short) end
  local function text_of(x) return type(x) == "number" and ("%.0f"):format(x) or plain(x) end
  local width = 0
  visit(t, short, function(x) width = max(width, #text_of(x)) end)
  return function(x)
    local text = text_of(x)
    return (" "):rep(width - #text) .. text
  end
end

-- The elements of a vector, in lines of at most `width` characters that begin with `indent`.
local function vector_text(t, short, write, indent, width)
  local lines, line, first = {}, indent, true
  shown(#t, short, function(i)
    local word = i == nil and "..." or write(t[i])
    if not first then line = line .. ", " end
    if not first and #line + #word > width - 1 and #line > #indent then
      lines[#lines + 1] = line:match("^(.-) *$")
      line = indent
    end
    line, first = line .. word, false
  end)
  lines[#lines + 1] = line
  return "[" .. table.concat(lines, "\n"):sub(#indent + 1) .. "]"
end

local function text_of(t, short, write, indent, width)
  indent = indent .. " "
  if t.ndim == 1 then return vector_text(t, short, write, indent, width) end
  local rows = {}
  shown(#t, short, function(i)
    rows[#rows + 1] = i == nil and "..." or text_of(t[i], short, write, indent, width - 1)
  end)
  return "[" .. table.concat(rows, "," .. ("\n"):rep(t.ndim - 1) .. indent) .. "]"
end

---Writes the tensor as text, as tostring and print show it.
---```lua
---print(actor.tensor.arange(3):tostring())  --> tensor([0., 1., 2.], float32)
---```
---@return string
function methods.tostring(t)
  base.arg(t, "t", "tensor.tostring")
  if t.context_ == nil then return "tensor(empty)" end
  local dtype = t.dtype
  if t.size == 0 then return ("tensor([], shape=%s, %s)"):format(base.shape_text(t), dtype) end
  local short = t.size > max_elements
  local write = writer(t, short)
  if t.ndim == 0 then return ("tensor(%s, %s)"):format(write(t:item()), dtype) end
  local body = text_of(t, short, write, (" "):rep(#name), line_width - 1)
  return ("%s%s, %s%s)"):format(name, body, short and "shape=" .. base.shape_text(t) .. ", " or "", dtype)
end

return methods
