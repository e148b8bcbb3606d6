--- Builds tables of plain values from the bytes of rows. host/mapreduce/rows/flat_table.hpp finds their shape, numbers,
--- texts and booleans; a function, generated once for each shape, builds the table. So reading a table is a few stores
--- of compiled code instead of a call of the codec, which the JIT cannot compile.
local ffi = require("ffi")
local api = require("actor.ffi")("mapreduce")

local M = {}

local new = require("table.new")
local flat = ffi.new("ah_mr_flat")
local NUMBER, TEXT, YES = ffi.C.AH_ROW_TAG_NUMBER, ffi.C.AH_ROW_TAG_TEXT, ffi.C.AH_ROW_TAG_YES
local items_type = ffi.typeof("const ah_mr_value*")

-- Returns the Lua text that assigns the item at place `at` of a shape, where `count` values precede it, to `target`.
-- Also returns the next place and count. `carried`: see M.reader.
local function assignment(target, shape, at, count, carried, depth)
  local kind = shape:sub(at, at)
  at = at + 1
  if kind == "n" then return ("%s = v[%d].number"):format(target, count), at, count + 1 end
  if kind == "s" then return ("%s = text_at(v[%d].bytes, v[%d].size)"):format(target, count, count), at, count + 1 end
  if kind == "b" then return ("%s = v[%d].number ~= 0"):format(target, count), at, count + 1 end
  if kind == "l" then return ("%s = list(v[%d])"):format(target, count), at, count + 1 end
  if kind == "z" then return target .. " = nil", at, count end
  local own, fields, stores, items = "t" .. depth, {}, {}, 0
  while shape:find("^[^|}]", at) do
    items = items + 1
    fields[items] = "false"
    stores[items], at, count = assignment(("%s[%d]"):format(own, items), shape, at, count, carried, depth + 1)
  end
  if shape:sub(at, at) == "|" then
    at = at + 1
    while shape:sub(at, at) ~= "}" do
      local size, begin = shape:match("^(%d+):()", at)
      local field = ("[%q]"):format(shape:sub(begin, begin + size - 1))
      fields[#fields + 1] = field .. " = false"
      stores[#fields], at, count = assignment(own .. field, shape, begin + size, count, carried, depth + 1)
    end
  end
  local made = carried and ("new(%d, %d)"):format(items, #fields - items) or "{ " .. table.concat(fields, ", ") .. " }"
  return ("do local %s = %s %s %s = %s end"):format(own, made, table.concat(stores, " "), target, own), at + 1, count
end

---Returns a function that builds the table of an encoded value. It returns nothing for a value that only the codec
---can decode. `carried`: loops may use the table in the iteration after the call. LuaJIT computes wrong values in such
---a loop if constructors with fixed keys build tables of several shapes (bindings/vm/NOTES.md, "Faults of LuaJIT"), so
---the function fills an empty table, which takes longer.
---@param text_at fun(bytes: ffi.cdata*, size: integer): string
---@param carried boolean
---@return fun(v: ffi.cdata*): table?
function M.reader(text_at, carried)
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
    local body = assignment("row", ffi.string(found.bytes, found.size), 1, 0, carried, 1)
    local chunk = ("local text_at, list, new = ... return function(v) local row %s return row end"):format(body)
    local maker = assert(loadstring(chunk, "@stdlib/actor/mapreduce/flat-" .. shape))(text_at, list, new)
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
