--- Builds tables of plain values from the bytes of rows. host/mapreduce/rows/flat_table.hpp finds their shape, numbers
--- and texts; a constructor, generated once for each shape, builds the table. So reading a table is a few stores of
--- compiled code instead of a call of the codec, which the JIT cannot compile.
local ffi = require("ffi")
local api = require("actor.ffi")("mapreduce")

local M = {}

local new = require("table.new")
local flat = ffi.new("ah_mr_flat")
local NUMBER, TEXT, YES = ffi.C.AH_ROW_TAG_NUMBER, ffi.C.AH_ROW_TAG_TEXT, ffi.C.AH_ROW_TAG_YES
local items_type = ffi.typeof("const ah_mr_value*")

-- Returns the Lua text that builds the item at place `at` of a shape, where `count` values precede it. Also returns the
-- next place and count.
local function constructor(shape, at, count)
  local kind = shape:sub(at, at)
  at = at + 1
  if kind == "n" then return ("v[%d].number"):format(count), at, count + 1 end
  if kind == "s" then return ("text_at(v[%d].bytes, v[%d].size)"):format(count, count), at, count + 1 end
  if kind == "l" then return ("list(v[%d])"):format(count), at, count + 1 end
  if kind == "t" then return "true", at, count end
  if kind == "f" then return "false", at, count end
  if kind == "z" then return "nil", at, count end
  local parts = {}
  while shape:find("^[^|}]", at) do
    parts[#parts + 1], at, count = constructor(shape, at, count)
  end
  if shape:sub(at, at) == "|" then
    at = at + 1
    while shape:sub(at, at) ~= "}" do
      local size, begin = shape:match("^(%d+):()", at)
      local key = shape:sub(begin, begin + size - 1)
      local item
      item, at, count = constructor(shape, begin + size, count)
      parts[#parts + 1] = ("[%q] = %s"):format(key, item)
    end
  end
  return "{ " .. table.concat(parts, ", ") .. " }", at + 1, count
end

---Returns a function that builds the table of an encoded value. It returns nothing for a value that only the codec can
---decode.
---@param text_at fun(bytes: ffi.cdata*, size: integer): string
---@return fun(v: ffi.cdata*): table?
function M.reader(text_at)
  local function list(v)
    local items, n = ffi.cast(items_type, v.bytes), tonumber(v.size)
    local out = new(n, 0)
    for i = 0, n - 1 do
      local item = items[i]
      local tag = item.tag
      if tag == NUMBER then
        out[i + 1] = item.number
      elseif tag == TEXT then
        out[i + 1] = text_at(item.bytes, item.size)
      else
        out[i + 1] = tag == YES
      end
    end
    return out
  end
  local makers = {}
  local function make(shape)
    local found = ffi.new("ah_mr_value")
    api.flat_shape(api.streams, shape, found)
    local text = ffi.string(found.bytes, found.size)
    local chunk = "local text_at, list = ... return function(v) return " .. constructor(text, 1, 0) .. " end"
    local maker = assert(loadstring(chunk, "@stdlib/actor/mapreduce/flat-" .. shape))(text_at, list)
    makers[shape] = maker
    return maker
  end
  return function(v)
    local shape = api.flat(api.streams, v, flat)
    if shape == 0 then return nil end
    return (makers[shape] or make(shape))(flat.values)
  end
end

return M
