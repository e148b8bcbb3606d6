--- Converts rows to Lua values and back.
local buffer = require("string.buffer")
local ffi = require("ffi")
local is_plain = require("actor.codec.plain")
local codec = require("actor.codec")
local flat = require("actor.mapreduce.flat")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local C = ffi.C
local NIL, NO, YES, NUMBER, TEXT, VALUE = C.AH_ROW_TAG_NIL, C.AH_ROW_TAG_NO, C.AH_ROW_TAG_YES, C.AH_ROW_TAG_NUMBER, C.AH_ROW_TAG_TEXT, C.AH_ROW_TAG_VALUE
local TUPLE = C.AH_ROW_TAG_TUPLE

-- Short texts, which often repeat, are cached: C++ knows which texts are in `cached_texts`, and their places.
local SHORT, PLACES = 15, 16384
local cached_texts = require("table.new")(PLACES, 0)
for i = 0, PLACES - 1 do cached_texts[i] = "" end

-- The text of `size` bytes.
local function text_at(bytes, size)
  if size > SHORT then return ffi.string(bytes, size) end
  local place = api.find_text(api.streams, bytes, size)
  if place >= 0 then return cached_texts[place] end
  place = -1 - place
  local text = ffi.string(bytes, size)
  cached_texts[place] = text
  api.keep_text(api.streams, place, bytes, size)
  return text
end

local PACKED = 0xff -- the first byte of a value with tensors (host/wire/carried_value.hpp)

---The bytes of any value that can travel, tensors included.
---@param value any
---@return string
local function to_bytes(value)
  local bytes, tensors = codec.encode(value)
  return tensors and c.pack(value) or bytes
end

---@param bytes string as returned by to_bytes
---@return any
local function from_bytes(bytes)
  local value, message
  if bytes:byte() == PACKED then
    value, message = c.unpack(bytes)
  else
    value, message = codec.decode(bytes)
  end
  if message then error("a row is damaged: " .. message, 0) end
  return value
end

M.to_bytes, M.from_bytes = to_bytes, from_bytes

---Returns a function that copies a value. Each copy may be changed without effect on the others.
---@param value any
---@return fun(): any
function M.copies_of(value)
  local kind = type(value)
  if kind ~= "table" and kind ~= "cdata" and kind ~= "userdata" then return function() return value end end
  local bytes = to_bytes(value)
  return function() return from_bytes(bytes) end
end

local flat_at = flat.reader(text_at)

local array = ffi.new("ah_mr_value")

-- Returns a function that returns the value at `v` (ah_mr_value); `table_at`: see flat.reader.
local function getter(table_at)
  return function(v)
    local tag = v.tag
    if tag == TEXT then return text_at(v.bytes, v.size) end
    if tag == NUMBER then return v.number end
    if tag == VALUE then return table_at(v) or from_bytes(ffi.string(v.bytes, v.size)) end
    if tag == NIL then return nil end
    if tag == TUPLE then
      if api.array_of(api.streams, v, array) ~= 0 then c.fail() end
      return table_at(array) or from_bytes(ffi.string(array.bytes, array.size))
    end
    return tag == YES
  end
end

-- The bytes of a row's values and its key, which must stay alive until they are copied: texts, and buffers for plain
-- tables. A buffer avoids a Lua text of the bytes, which would cost most of the time and is not used again.
local encoded, encoded_before, encoded_first
local buffers, turn = { buffer.new(), buffer.new(), buffer.new() }, 0
local MAX_BUFFER_BYTES = 2 ^ 20 -- bytes of a buffer
local DEPTH, SLOTS = 64, 16 * 2 ^ 20 -- the limits of the codec

local function set_table(v, x)
  turn = turn % 3 + 1
  local bytes = buffers[turn]
  if #bytes > MAX_BUFFER_BYTES then bytes:free() else bytes:reset() end
  bytes:encode(x)
  v.tag = VALUE
  v.bytes, v.size = bytes:ref()
end

local function set(v, x)
  local kind = type(x)
  if kind == "number" then
    v.tag, v.number = NUMBER, x
  elseif kind == "string" then
    v.tag, v.bytes, v.size = TEXT, x, #x
  elseif kind == "boolean" then
    v.tag, v.number = x and YES or NO, x and 1 or 0
  elseif x == nil then
    v.tag = NIL
  elseif kind == "table" and is_plain(x, DEPTH, SLOTS) then
    set_table(v, x)
  else
    encoded_first, encoded_before, encoded = encoded_before, encoded, to_bytes(x)
    v.tag, v.bytes, v.size = VALUE, encoded, #encoded
  end
end

M.get = getter(flat.reader(text_at, true))
M.get_in_iteration = getter(flat.reader(text_at, false)) -- for loops that use a value only in the iteration that reads it
M.set, M.text_at = set, text_at

---Returns the result of a call of the FFI table; raises the failure's message if it is nil.
---@generic T
---@param pointer T
---@return T
function M.required(pointer)
  if pointer == nil then c.fail() end
  return pointer
end

-- ---- results of functions ----

local TWO = "it returned two values where one is taken (parentheses around a call keep its first; a table holds several)"

---Returns the only result of a function. Raises for a second result, which would be lost.
---@generic T
---@param value T
---@param more any
---@return T
function M.one(value, more)
  if more ~= nil then error(TWO, 0) end
  return value
end

---Returns the only result of a function, and raises when it is nil: a nil value, state or key would lose rows.
---@generic T
---@param value T
---@param more any
---@return T
function M.some(value, more)
  if more ~= nil then error(TWO, 0) end
  if value == nil then error("it returned nothing (is a 'return' missing?)", 0) end
  return value
end

---The number of elements of an array. Raises for an array with gaps or other keys, which would be lost. The caller
---detects a nil in between while it iterates over the elements.
---@param t table
---@return integer
function M.length(t)
  local n = #t
  if next(t, n > 0 and n or nil) == nil then return n end
  local found = 0
  for _ in pairs(t) do found = found + 1 end
  if found ~= n then M.no_array(n, found) end
  return n
end

---@param n integer
---@param found? integer
function M.no_array(n, found)
  error(("the table is no array without gaps: it has a length of %d%s"):format(n,
    found and (" and %d values"):format(found) or " and nils between"), 0)
end

local length = M.length

---A row as one value: a pair is {k, v}.
---@param a any
---@param b any
---@return any
function M.as_value(a, b)
  if b ~= nil then return { a, b } end
  return a
end

---A row for a keyed operation: a pair, or a table of two elements, which counts as a pair.
---@param a any
---@param b any
---@return any key
---@return any value
function M.as_pair(a, b)
  if b ~= nil then return a, b end
  if type(a) == "table" and #a == 2 and length(a) == 2 then return a[1], a[2] end
  error("a pair is needed here (a function that returns two values, or {key, value}), got a " .. type(a), 0)
end

return M
