--- Compiles the narrow operations of a stage into one Lua loop over batches of rows. The loop is generated as source
--- text, so that the JIT compiles each stage's loop for its own functions. Rows are in C++ before and after the loop;
--- only the values that a function needs become Lua values.
local enum = require("actor.enum")
local ffi = require("ffi")
local faults = require("actor.mapreduce.faults")
local emitters = require("actor.mapreduce.emitters")
local values = require("actor.mapreduce.values")
local writers = require("actor.mapreduce.writers")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local M = {}

for name, value in pairs(values) do M[name] = value end
for name, value in pairs(writers) do M[name] = value end

local get, text_at, as_pair = values.get, values.text_at, values.as_pair
faults.read_with(get)

local function nothing(second)
  if second ~= nil then error("it returned nil and a value: a pair has a key", 0) end
  error("it returned nothing (filter and flatmap leave rows out)", 0)
end

-- ---- string.gmatch ----

-- The iterator of text:gmatch("%S+") is never called. C++ searches for patterns that repeat one class, so the loop
-- stays compiled.

local function class_of(pattern)
  local class = pattern:match("^(%%[^%dbf])%+$") or pattern:match("^(%[%^?[^%]]+%])%+$")
  if not class or not pcall(string.find, "", class) then return false end
  local wanted = ffi.new("uint8_t[256]")
  for i = 0, 255 do wanted[i] = string.char(i):find("^" .. class .. "$") and 1 or 0 end
  return wanted
end

local classes = {} -- by pattern; false for other patterns

-- Prepares `matches` for a new iterator of gmatch, which has not been called yet; nil for other iterators.
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

-- ---- the generated text ----

local changes = enum("AH_MR_CHANGE", "lower upper")

-- How operation i + 1 changes the case of the texts that operation i spreads (as in ah_mr_matches), if it does nothing
-- else. The operations after it are in the loop's text twice, so they must not spread again.
local function changes_case(ops, i)
  local op = ops[i + 1]
  local change = op and op.op == "map" and changes[op.native]
  if not change then return nil end
  for k = i + 2, #ops do
    if emitters.spreads[ops[k].op] then return nil end
  end
  return change
end

-- Returns the text of the operations after operation i, as a function of the names of its row's variables. Operations
-- after a spreading operation are a local function, whose text is appended to `texts`.
local function behind(ops, i, texts)
  return function(a, b)
    local op = ops[i + 1]
    if not op then return ("put(%s, %s) --put"):format(a, b) end
    local rest = behind(ops, i + 1, texts)
    if emitters.spreads[op.op] then
      local function named(name, text)
        texts[#texts + 1] = ("local function %s%d(a, b)\n%s\nend"):format(name, i + 1, text)
      end
      if op.op == "flatmap_values" then
        local key = "key" .. i + 1
        local row = "local v = as_value(a, b)\n" .. rest(key, "v")
        texts[#texts + 1] = "local " .. key
        named("next", row)
      else
        named("next", rest("a", "b"))
      end
      -- C++ has already changed the case of the matches that it has found.
      local changed = op.op ~= "flatmap_values" and changes_case(ops, i + 1)
      named("matched", changed and behind(ops, i + 2, texts)("a", "b") or ("next%d(a, b)"):format(i + 1))
    end
    return emitters.by_op[op.op](i + 1, a, b, rest)
  end
end

-- The beginning of every chunk. faults.lua reads `state`, and so do operations that stop a loop early. `task` is the
-- number of the task.
local head = [[
local put, fs, state, combine, iterate, parts = ...
local api, get, text_at, matches_of, each, fail = parts.api, parts.get, parts.text_at, parts.matches_of, parts.each, parts.fail
local four, nothing, new_matches = parts.four, parts.nothing, parts.new_matches
local no_array, no_table, no_key, too_many = parts.no_array, parts.no_table, parts.no_key, parts.too_many
local one, length = parts.one, parts.length
local as_pair, as_value = parts.as_pair, parts.as_value
local task
LOCALS
TEXTS
]]

-- The operations on a row as a local function, for loops that receive rows at more than one place.
local of_row = [[
local function rest(a, b)
  ROW
end
]]

-- The beginning of each chunk's function, and of a function that reads the source's batches itself.
local opened = [[
return function(source, number)
  task = number
  BEGIN
]]
local batched = opened .. [[
  local batch = api.batch(source)
  state.batch = batch
]]

-- Rows with equal keys next to each other; `combine` combines their values before the operations see them.
local grouped = head .. of_row .. batched .. [[
  local any, key, value = false, nil, nil
  while true do
    local n = api.next(api.streams, source)
    if n <= 0 then
      if any then rest(key, value) end
      return n
    end
    for i = 0, n - 1 do
      batch.at = i
      if batch.pair[i] == 3 then
        value = one(combine(value, get(batch.second[i]))) --combine
      else
        if any then rest(key, value) end
        any, key, value = true, get(batch.first[i]), get(batch.second[i])
      end
    end
  end
end
]]

-- Rows from a reader (readers.lua).
local read_by = head .. of_row .. opened .. [[
  local result = combine.read(source, rest) --combine
  return result -- no tail call: faults.lua looks for this frame
end
]]

local plain = head .. "local get_in_iteration = parts.get_in_iteration\n" .. batched .. [[
  while not state.full do
    local n = api.next(api.streams, source)
    if n <= 0 then return n end
    for i = 0, n - 1 do
      batch.at = i
      local a, b = get_in_iteration(batch.first[i]), nil
      if batch.pair[i] ~= 0 then b = get_in_iteration(batch.second[i]) end
      ROW
    end
  end
  return 0
end
]]

-- Rows for a function that takes them as stored in a batch.
local raw = head .. batched .. [[
  while true do
    local n = api.next(api.streams, source)
    if n <= 0 then return n end
    for i = 0, n - 1 do
      batch.at = i
      put(batch.first[i], batch.second[i], batch.pair[i]) --put
    end
  end
end
]]

-- Rows that need no C++: numbers of a range or elements of an array, as `source` describes. `state.batch` has the
-- present number or place, for errors.
local counted = head .. opened .. [[
  local first, step, element, batch = source.first, source.step, source.element, source.batch
  state.batch, state.array = batch, source.array
  local present = batch.first[0]
  for begin = source.from, source.to, 256 do
    if state.full then break end
    local stop = begin + 255
    if stop > source.to then stop = source.to end
    api.count_rows(api.streams, stop - begin + 1)
    for i = begin, stop do
      local a, b = ELEMENT, nil
      present.number = PRESENT
      ROW
    end
  end
  return 0
end
]]
local counted_range = counted:gsub("ELEMENT", "first + step * i"):gsub("PRESENT", "a")
local counted_array = counted:gsub("ELEMENT", "element(i)"):gsub("PRESENT", "i")

-- After a function that takes all rows of a partition.
local partition = head .. opened .. [[
  local rows = iterate(source, number)
  ROW
  return 0
end
]]

-- An iterator over rows. One row of the source may give several rows; they are queued until requested.
local pulled = head:gsub("local put, ", "local _, ", 1):gsub("local task\n", [[
local task
local firsts, seconds, count = {}, {}, 0
local function put(a, b)
  if a == nil and b ~= nil then no_key() end
  count = count + 1
  firsts[count], seconds[count] = a, b
end
]], 1) .. of_row .. batched .. [[
  local size, i, at = 0, 0, 0
  count = 0
  return function()
    while at == count do
      at, count = 0, 0
      if size < 0 then return nil end
      if i == size then
        size, i = api.next(api.streams, source), 0
        if size < 0 then fail() end
        if size == 0 then
          size = -1
          return nil
        end
      end
      batch.at = i
      local b = nil
      if batch.pair[i] ~= 0 then b = get(batch.second[i]) end
      i = i + 1
      rest(get(batch.first[i - 1]), b)
    end
    at = at + 1
    return firsts[at], seconds[at]
  end
end
]]

-- The same iterator without operations.
local drawn = head .. [[
return function(source)
  local batch = api.batch(source)
  state.batch = batch
  local size, i = 0, 0
  return function()
    if i == size then
      if size < 0 then return nil end
      size, i = api.next(api.streams, source), 0
      if size < 0 then fail() end
      if size == 0 then
        size, i = -1, -1
        return nil
      end
    end
    batch.at = i
    local a, b = get(batch.first[i]), nil
    if batch.pair[i] ~= 0 then b = get(batch.second[i]) end
    i = i + 1
    if a == nil and b ~= nil then no_key() end
    return a, b
  end
end
]]

-- A function's results: the first four, and a table of the others if there are any.
local function four(r1, r2, r3, r4, ...)
  if select("#", ...) == 0 then return r1, r2, r3, r4 end
  return r1, r2, r3, r4, { n = select("#", ...), ... }
end

local function each(fn, values)
  for i = 1, values.n do
    if values[i] ~= nil then fn(values[i]) end
  end
end

local function new_matches(change)
  local matches = ffi.new("ah_mr_matches")
  matches.change = change
  return matches
end

local function too_many()
  error("it returned three values, and a row is a value or a pair (a table holds several)", 0)
end

local function no_table(a, b)
  error(("flatten takes rows that are arrays, got a %s"):format(b ~= nil and "pair" or type(a)), 0)
end

local function no_key() error("map_partition cannot take pairs whose key is nil", 0) end

local parts = {
  api = api, get = get, get_in_iteration = values.get_in_iteration, text_at = text_at, matches_of = matches_of,
  each = each, four = four, nothing = nothing, new_matches = new_matches, no_array = values.no_array, no_table = no_table, no_key = no_key, too_many = too_many, fail = c.fail,
  as_pair = as_pair, as_value = values.as_value, one = values.one, length = values.length,
}

local function results_or_error(a, b, fine, ...)
  if fine then return ... end
  return { error = tostring((...)), row = values.as_value(a, b) }
end

-- The function of an operation; with the option `on_error` one that returns errors instead of raising them.
local function function_of(op)
  local fn = op.fn
  if op.on_error ~= "keep" then return fn end
  return function(a, b) return results_or_error(a, b, pcall(fn, a, b)) end
end

-- Makes one of the chunks above.
local function make(chunk, ops, put, combine, labels, state, iterate)
  local locals, begin, fs, texts = {}, {}, {}, {}
  for i, op in ipairs(ops) do
    locals[i] = ("local f%d = fs[%d]"):format(i, i)
    fs[i] = function_of(op)
    if op.op == "flatmap" or op.op == "map_partition" or op.op == "flatmap_values" then
      local change = op.op ~= "flatmap_values" and changes_case(ops, i) or 0
      locals[i] = locals[i] .. (" local m%d = new_matches(%d)"):format(i, change)
    elseif op.op == "sample" then
      locals[i] = locals[i] .. (" local s%d = 0"):format(i)
      begin[#begin + 1] = ("s%d = 0"):format(i)
    end
  end
  local row = behind(ops, 0, texts)("a", "b")
  local text = chunk:gsub("%f[%u]%u%u%u+%f[^%u]", {
    LOCALS = table.concat(locals, "\n"), TEXTS = table.concat(texts, "\n"), BEGIN = table.concat(begin, "\n"), ROW = row,
  })
  return faults.load(text, ops, labels, state)(put, fs, state, combine, iterate, parts)
end

local function last_partition_function(ops)
  for i = #ops, 1, -1 do
    if ops[i].op == "map_partition" then return i end
  end
end

---Returns a function that opens an iterator over the rows that `ops` make of a source.
---@param ops {op: string, fn: function}[]
---@param combine any as `loop` takes it
---@param labels table
---@param state table
---@return fun(source: ffi.cdata*, task?: integer): (fun(): any, any)
function M.iterator(ops, combine, labels, state)
  if not combine and #ops == 0 then return make(drawn, ops, nil, nil, labels, state) end
  if not combine and not last_partition_function(ops) then return make(pulled, ops, nil, nil, labels, state) end
  local loop = M.loop(ops, function(a, b)
    if a == nil and b ~= nil then no_key() end
    coroutine.yield(a, b)
  end, combine, labels, state)
  return function(source, task)
    return coroutine.wrap(function()
      local ok, result = xpcall(loop, faults.explain, source, task)
      if not ok then error(faults.explained(result), 0) end
      if result < 0 then c.fail() end
    end)
  end
end

---Whether a loop of these operations can take rows as `M.range` and `M.array` have them.
---@param ops {op: string, fn: function}[]
---@return boolean
function M.counts(ops) return not last_partition_function(ops) end

local function one_number()
  local batch = ffi.new("ah_mr_batch")
  batch.count, batch.first[0].tag = 1, ffi.C.AH_ROW_TAG_NUMBER
  return batch
end

---The numbers first + step * i for i in from .. to.
---@param first number
---@param step number
---@param from integer
---@param to integer
---@return table
function M.range(first, step, from, to)
  return { first = first, step = step, from = from, to = to, batch = one_number() }
end

---The elements array[i] for i in from .. to; mutable values are copied.
---@param array any[]
---@param from integer
---@param to integer
---@return table
function M.array(array, from, to)
  local is_object, from_bytes, to_bytes = writers.is_object, values.from_bytes, values.to_bytes
  local function element(i)
    local value = array[i]
    if is_object(value) then value = from_bytes(to_bytes(value)) end
    return value
  end
  return { array = array, element = element, from = from, to = to, batch = one_number() }
end

---The loop of a stage's tasks: takes the rows of a source through the operations and passes the results to `put`. All
---tasks of a stage on a node share one loop, so that the JIT compiles it once.
---@param ops {op: string, fn: function}[]
---@param put fun(a: any, b: any)
---@param combine? (fun(a: any, b: any): any)|{read: function} combines the values of adjacent equal keys; or a reader
---@param labels? {put?: actor.mapreduce.Label, combine?: actor.mapreduce.Label} owners of these functions, for messages
---@param state? table whose `full` ends the loop at the next batch
---@param kind? "range"|"array" the source is a result of `M.range` or `M.array`
---@return fun(source: ffi.cdata*|table, task?: integer): integer 0 at the end, negative when the source has failed
function M.loop(ops, put, combine, labels, state, kind)
  labels, state = labels or {}, state or {}
  local at = last_partition_function(ops)
  if kind then return make(kind == "range" and counted_range or counted_array, ops, put, combine, labels, state) end
  local chunk = type(combine) == "table" and read_by or combine and grouped or plain
  if not at then return make(chunk, ops, put, combine, labels, state) end
  local before, rest = {}, {}
  for i, op in ipairs(ops) do
    if i < at then before[#before + 1] = op else rest[#rest + 1] = op end
  end
  return make(partition, rest, put, nil, labels, state, M.iterator(before, combine, labels, state))
end

---The loop of tasks that take the rows of a source as stored in its batches.
---@param put fun(first: ffi.cdata*, second: ffi.cdata*, pair: integer)
---@param labels {put: actor.mapreduce.Label}
---@return fun(source: ffi.cdata*): integer 0 at the end, negative when the source has failed
function M.raw_loop(put, labels) return make(raw, {}, put, nil, labels, {}) end

return M
