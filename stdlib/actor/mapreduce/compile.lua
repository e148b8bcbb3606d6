--- A task's Lua: the narrow operations of a stage as one loop over batches of rows, made as source text so that the JIT
--- compiles each stage's loop for the functions at hand. Rows are in C++ before and after; only what a function needs
--- becomes a Lua value.
local ffi = require("ffi")
local codec = require("actor.codec")
local functions = require("actor.mapreduce.functions")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

local TEXT, VALUE = 4, 5

-- Short texts come again soon: while they are kept the VM finds them instead of making and freeing one each time.
local KEPT, SHORT = 65536, 32
local ring, at = {}, 0

-- The text of so many bytes.
local function text_at(bytes, size)
  local text = ffi.string(bytes, size)
  if size <= SHORT then
    at = bit.band(at + 1, KEPT - 1)
    ring[at] = text
  end
  return text
end

local PACKED = 0xff -- the first byte of a value with tensors (bindings/row_values.hpp)

---The bytes of any value that can travel, tensors included.
---@param value any
---@return string
local function to_bytes(value)
  local bytes, tensors = codec.encode(value)
  return tensors and c.pack(value) or bytes
end

---@param bytes string as to_bytes gave them
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

-- The value at `v` (ah_mr_value).
local function get(v)
  local tag = v.tag
  if tag == TEXT then return text_at(v.bytes, v.size) end
  if tag == 3 then return v.number end
  if tag == VALUE then return from_bytes(ffi.string(v.bytes, v.size)) end
  if tag == 0 then return nil end
  return tag == 2
end

local encoded -- keeps a value's bytes alive until they are copied

local function set(v, x)
  local kind = type(x)
  if kind == "number" then
    v.tag, v.number = 3, x
  elseif kind == "string" then
    v.tag, v.bytes, v.size = TEXT, x, #x
  elseif kind == "boolean" then
    v.tag, v.number = x and 2 or 1, x and 1 or 0
  elseif x == nil then
    v.tag = 0
  else
    encoded = to_bytes(x)
    v.tag, v.bytes, v.size = VALUE, encoded, #encoded
  end
end

M.get, M.set = get, set

---What a call of the FFI table gave; raises why it failed where that is nothing.
---@generic T
---@param pointer T
---@return T
function M.required(pointer)
  if pointer == nil then c.fail() end
  return pointer
end

---A row as one value: a pair is {k, v}.
---@param a any
---@param b any
---@return any
function M.as_value(a, b)
  if b ~= nil then return { a, b } end
  return a
end

local function nothing(op, fn)
  error(("%s (%s) returned nothing; use filter or flatmap to leave rows out"):format(op, functions.where(fn) or "C"), 0)
end

-- ---- string.gmatch ----

-- The iterator of text:gmatch("%S+") is not called: patterns that are one class, repeated, are looked for in C++, which
-- keeps the loop compiled.

local function class_of(pattern)
  local class = pattern:match("^(%%[^%dbf])%+$") or pattern:match("^(%[%^?[^%]]+%])%+$")
  if not class or not pcall(string.find, "", class) then return false end
  local wanted = ffi.new("uint8_t[256]")
  for i = 0, 255 do wanted[i] = string.char(i):find("^" .. class .. "$") and 1 or 0 end
  return wanted
end

local classes = {} -- by pattern; false for those that are none

-- Prepares `matches` for a fresh iterator of gmatch; nil for other iterators.
local function matches_of(iterator, matches)
  local text, pattern = c.gmatch_of(iterator)
  if not text then return nil end
  local class = classes[pattern]
  if class == nil then
    class = class_of(pattern)
    classes[pattern] = class
  end
  if not class then return nil end
  matches.at = text
  matches.stop = matches.at + #text
  matches.wanted = class
  return matches
end

-- ---- the text ----

local emitters = {}

-- Each takes the names of the present row's variables and gives text, with `rest` where the following operations go.
function emitters.map(i, a, b, rest)
  return ([[
    local a%d, b%d = f%d(%s, %s)
    if a%d == nil and b%d == nil then nothing("map", f%d) end
    %s]]):format(i, i, i, a, b, i, i, i, rest("a" .. i, "b" .. i))
end

function emitters.filter(i, a, b, rest)
  return ("if f%d(%s, %s) then %s end"):format(i, a, b, rest(a, b))
end

-- Whatever the function returned, its rows go to one local function, which the JIT inlines.
function emitters.flatmap(i, a, b)
  return ([[
    local r1, r2, r3, r4 = fI(A, B)
    if type(r1) == "function" then
      local matches = matches_of(r1, mI)
      if matches then
        local n = api.match(matches)
        while n > 0 do
          for j = 0, n - 1 do matchedI(text_at(matches.bytes[j], matches.sizes[j])) end
          n = api.match(matches)
        end
      else
        for x, y in r1, r2, r3 do nextI(x, y) end
      end
    elseif r2 == nil and type(r1) == "table" then
      for j = 1, #r1 do nextI(r1[j]) end
    elseif r4 ~= nil then
      each(nextI, fI(A, B))
    else
      if r1 ~= nil then nextI(r1) end
      if r2 ~= nil then nextI(r2) end
      if r3 ~= nil then nextI(r3) end
    end]]):gsub("I", i):gsub("A", a):gsub("B", b)
end

local changes = { lower = 1, upper = 2 }

-- Whether an operation only changes the case of texts: how, as ah_mr_matches has it.
local function changes_case(op) return op and op.op == "map" and changes[op.native] or nil end

-- The text of the operations behind the i-th, as a function of the names of its row's variables. What follows a flatmap
-- is a local function of its own, whose text goes into `texts`.
local function behind(ops, i, texts)
  return function(a, b)
    local op = ops[i + 1]
    if not op then return ("put(%s, %s)"):format(a, b) end
    local rest = behind(ops, i + 1, texts)
    if op.op == "flatmap" then
      local function named(name, text) texts[#texts + 1] = ("local function %s%d(a, b) %s end"):format(name, i + 1, text) end
      named("next", rest("a", "b"))
      -- What C++ has found it has changed the case of, too.
      named("matched", changes_case(ops[i + 2]) and behind(ops, i + 2, texts)("a", "b") or ("next%d(a, b)"):format(i + 1))
    end
    return emitters[op.op](i + 1, a, b, rest)
  end
end

-- Rows of which those of equal keys follow each other, combined by `combine` before the operations see them.
local grouped = [[
local api, get, put, text_at, matches_of, each, nothing, new_matches, fs, combine = ...
%s
%s
local function rest(a, b)
  %s
end
return function(source)
  local batch = api.batch(source)
  local any, key, value = false, nil, nil
  while true do
    local n = api.next(source)
    if n <= 0 then
      if any then rest(key, value) end
      return n
    end
    for i = 0, n - 1 do
      batch.at = i
      if batch.pair[i] == 3 then
        value = combine(value, get(batch.second[i]))
      else
        if any then rest(key, value) end
        any, key, value = true, get(batch.first[i]), get(batch.second[i])
      end
    end
  end
end
]]

local template = [[
local api, get, put, text_at, matches_of, each, nothing, new_matches, fs = ...
%s
%s
return function(source)
  local batch = api.batch(source)
  while true do
    local n = api.next(source)
    if n <= 0 then return n end
    for i = 0, n - 1 do
      batch.at = i
      local a, b = get(batch.first[i]), nil
      if batch.pair[i] ~= 0 then b = get(batch.second[i]) end
      %s
    end
  end
end
]]

local function each(fn, ...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if value ~= nil then fn(value) end
  end
end

local function new_matches(change)
  local matches = ffi.new("ah_mr_matches")
  matches.change = change
  return matches
end

---The loop of a stage's tasks: the rows of a source through the operations, what comes out into `put`. Made once for all
---tasks of a stage on a node, since what the JIT compiles belongs to it.
---@param ops {op: string, fn: function}[]
---@param put fun(a: any, b: any)
---@param combine? fun(a: any, b: any): any of the values of equal keys that follow each other
---@return fun(source: ffi.cdata*): integer 0 at the end, below it when the source has failed
function M.loop(ops, put, combine)
  local locals, fs, texts = {}, {}, {}
  for i, op in ipairs(ops) do
    locals[i] = ("local f%d = fs[%d]"):format(i, i)
    fs[i] = op.fn
    if op.op == "flatmap" then locals[i] = locals[i] .. (" local m%d = new_matches(%d)"):format(i, changes_case(ops[i + 1]) or 0) end
  end
  local text = behind(ops, 0, texts)("a", "b")
  local chunk = (combine and grouped or template):format(table.concat(locals, "\n"), table.concat(texts, "\n"), text)
  local make = assert(load(chunk, "@stdlib/actor/mapreduce/compile.lua(loop)", "t"))
  return make(api, get, put, text_at, matches_of, each, nothing, new_matches, fs, combine)
end

-- A row that a keyed operation gets: a pair, or a table of two that stands for one.
local function as_pair(a, b)
  if b ~= nil then return a, b end
  if type(a) == "table" and #a == 2 then return a[1], a[2] end
  error("a pair is needed here (a function that returns two values, or {key, value}), got " .. type(a), 0)
end

M.as_pair = as_pair

local BATCH = 64 -- keys that are looked up together

---What combines pairs by key with `fn` in a sink of api.combine(""). Pairs are collected, so that the table's memory is on
---its way when they are combined.
---@param fn fun(a: any, b: any): any
---@return fun(key: any, value: any) put
---@return fun(sink: ffi.cdata*) bind says into which sink
---@return fun() finish after the last pair
function M.combiner(fn)
  local key, value = ffi.new("ah_mr_value"), ffi.new("ah_mr_value")
  local numbers, is_number, others = ffi.new("double[?]", BATCH), ffi.new("uint8_t[?]", BATCH), {}
  local sink
  local waiting = 0

  local function store(slot, v)
    set(value, v)
    if api.set_slot(sink, slot, value) ~= 0 then c.fail() end
  end

  local function combine(slot, v)
    local tag = slot.tag
    if tag == 3 then -- numbers stay in place
      local combined = fn(slot.number, v)
      if type(combined) == "number" then
        slot.number = combined
      else
        store(slot, combined)
      end
    elseif tag == 0 then
      if type(v) == "number" then
        slot.tag, slot.number = 3, v
      else
        store(slot, v)
      end
    else
      api.get_slot(slot, value)
      store(slot, fn(get(value), v))
    end
  end

  local function finish()
    local count = waiting
    waiting = 0
    local slots = api.locate(sink)
    if slots == nil then c.fail() end
    for i = 0, count - 1 do
      if is_number[i] ~= 0 then
        combine(slots[i], numbers[i])
      else
        combine(slots[i], others[i])
      end
    end
  end

  local function put(k, v)
    if v == nil then k, v = as_pair(k, v) end
    set(key, k)
    local i = api.take(sink, key) - 1
    if type(v) == "number" then
      numbers[i], is_number[i] = v, 1
    else
      others[i], is_number[i] = v, 0
    end
    waiting = i + 1
    if waiting == BATCH then finish() end
  end

  return put, function(to) sink, waiting = to, 0 end, finish
end

---What puts rows into a sink.
---@return fun(a: any, b: any) put
---@return fun(sink: ffi.cdata*) bind says into which sink
function M.writer()
  local row = ffi.new("ah_mr_row")
  local sink
  local function put(a, b)
    set(row.first, a)
    if b ~= nil then
      set(row.second, b)
      row.pair = 1
    else
      row.pair = 0
    end
    if api.put(sink, row) ~= 0 then c.fail() end
  end
  return put, function(to) sink = to end
end

return M
