--- Actions run a pipeline and return a value, the same on every node. Some actions collect rows in the memory of each
--- node; their docstrings note this. The others send little more than their result.
local best = require("actor.mapreduce.best")
local check = require("actor.check")
local codec = require("actor.codec")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local explain = require("actor.mapreduce.explain")
local functions = require("actor.mapreduce.functions")
local natives = require("actor.mapreduce.natives")
local run = require("actor.mapreduce.run")
local c = require("actor.c.mapreduce")

local Dataset, act, as_value, some, read_all = datasets.Dataset, run.act, compile.as_value, compile.some, run.read_all

local ROW_BYTES = 16 -- overhead of a row in an array

-- Makes the function that fetches all rows of a result. It refuses a result that exceeds a node's memory.
local function all_rows(name)
  return function(source)
    local figures = c.figures().stages
    local last, memory = figures[#figures], c.memory()
    local bytes = last.bytes_out + ROW_BYTES * last.rows_out
    if bytes <= memory then return read_all(source) end
    check.fail("mapreduce.%s: the result has %sB and each node may use %sB (--memory); save it, take some of it or aggregate it",
      name, explain.short(bytes), explain.short(memory))
  end
end

---Returns all rows as an array, in order of partitions; a pair is {k, v}. Every node holds all rows in its memory.
---Raises when the rows exceed --memory.
---```lua
---local rows = actor.mapreduce.range(1, 3):map(function(n) return n, n * n end):collect()
---print(rows[3][1], rows[3][2])  --> 3 9
---```
---@return any[]
function Dataset:collect() return act(self, "collect", { kind = "rows" }, all_rows("collect")) end

-- An action that folds each partition into a value; `read` combines these values.
local function folded(self, name, output, read)
  output.kind = "folded"
  return act(self, name, output, function(source) return read(read_all(source)) end)
end

---Counts the rows.
---```lua
---print(actor.mapreduce.range(1, 100):count())  --> 100
---```
---@return integer
function Dataset:count()
  return folded(self, "count", { start = function() return 0 end, step = function(n) return n + 1 end }, function(parts)
    local sum = 0
    for _, n in ipairs(parts) do sum = sum + n end
    return sum
  end)
end

-- Combines the values of partitions from left to right.
local function from_left(name, fn)
  return function(parts)
    local value, found = parts[1], nil
    for i = 2, #parts do
      found, value = pcall(some, fn(value, parts[i]))
      if not found then check.fail("mapreduce.%s: %s", name, value) end
    end
    return value
  end
end

-- Combines all rows with `fn`, first within each partition.
local function reduced(self, name, fn, check_row)
  local nothing = {}
  local function step(sum, a, b)
    if check_row then check_row(a, b) end
    if sum == nothing then return as_value(a, b) end
    return some(fn(sum, as_value(a, b)))
  end
  local function close(sum)
    if sum == nothing then return nil end
    return sum
  end
  return folded(self, name, { start = function() return nothing end, step = step, close = close, fn = fn }, from_left(name, fn))
end

---Combines all rows with `fn(a, b)`, first within each partition, in order. `fn` must be associative. Returns nil
---without rows.
---```lua
---print(actor.mapreduce.parallelize({ "a", "b", "c" }):reduce(function(a, b) return a < b and b or a end))  --> c
---```
---@param fn fun(a: any, b: any): any
---@return any
function Dataset:reduce(fn)
  fn = functions.freeze(functions.given(fn, "fn", "reduce"))
  return reduced(self, "reduce", fn)
end

---Folds all rows, in order of partitions: fn(...fn(fn(zero, row 1), row 2)..., row n). `fn` gets a pair as two
---arguments. All rows pass through one task, so `fn` need not be associative. With mr.sum, mr.min or mr.max, each
---partition is combined first.
---```lua
---print(actor.mapreduce.parallelize({ "a", "b", "c" }):fold("", function(state, word) return state .. word end))
-----> abc
---
---```
---@param zero any
---@param fn fun(value: any, row: any, second: any): any
---@return any
function Dataset:fold(zero, fn)
  fn = functions.freeze(functions.given(fn, "fn", "fold"))
  if natives.combines(fn) then
    local rest = reduced(self, "fold", fn)
    if rest == nil then return zero end
    return fn(zero, rest)
  end
  local start = compile.copies_of(zero)
  local all = datasets.gathered(self, "fold")
  local result = folded(all, "fold", { start = start, step = fn, fn = fn, signature = codec.hash(zero) }, function(parts) return parts[1] end)
  self.last_run = all.last_run
  return result
end

---Folds the rows of each partition with `seq(value, row)` from `zero`, then combines the results with `comb(a, b)`, in
---order of partitions. `seq` gets a pair as two arguments. `zero` must be neutral for `comb`; without rows it is the
---result.
---```lua
---local total = actor.mapreduce.parallelize({ "to", "be" }):aggregate(0,
---  function(state, word) return state + #word end, function(a, b) return a + b end)
---print(total)  --> 4
---```
---@param zero any
---@param seq fun(value: any, row: any, second: any): any
---@param comb fun(a: any, b: any): any
---@return any
function Dataset:aggregate(zero, seq, comb)
  seq = functions.freeze(functions.given(seq, "seq", "aggregate"))
  comb = functions.freeze(functions.given(comb, "comb", "aggregate"))
  local start = compile.copies_of(zero)
  local function read(parts)
    if #parts == 0 then return start() end
    return from_left("aggregate", comb)(parts)
  end
  return folded(self, "aggregate", {
    start = start, step = seq, fn = seq, merge = comb, signature = codec.hash(zero),
  }, read)
end

-- ---- some rows ----

local FIRST_PARTITIONS, GROWTH = 1, 8

---Returns the first `n` rows, in order of partitions, as an array; a pair is {k, v}. A pipeline without wide operations
---runs on as few partitions as needed: on 1, then on 8, 64...
---```lua
---print(unpack(actor.mapreduce.range(1, 100):take(3)))  --> 1 2 3
---```
---@param n integer
---@return any[]
function Dataset:take(n)
  check.integer(n, "n", "mapreduce.take", 0)
  local partitions, rows = FIRST_PARTITIONS, {}
  while n > 0 do
    local output = { kind = "first", most = n, partitions = partitions, signature = n }
    rows = act(self, "take", output, all_rows("take"))
    if #rows >= n or output.all then break end
    partitions = GROWTH * partitions
  end
  for i = #rows, n + 1, -1 do rows[i] = nil end
  return rows
end

---Returns the first row; nil without rows.
---```lua
---print(actor.mapreduce.range(5, 100):first())  --> 5
---```
---@return any
function Dataset:first() return self:take(1)[1] end

---Returns the `n` greatest rows, greatest first; among equal rows the earlier first. Rows are compared by `key(row)`,
---which gets a pair as two arguments, or by default by the row itself. Keys are numbers or texts.
---```lua
---print(unpack(actor.mapreduce.parallelize({ 3, 9, 4 }):top(2)))  --> 9 4
---```
---@param n integer
---@param key? fun(row: any, second: any): number|string
---@return any[]
function Dataset:top(n, key)
  check.integer(n, "n", "mapreduce.top", 0)
  check.optional(key, "function", "key", "mapreduce.top")
  key = key and functions.freeze(key)
  return act(self, "top", { kind = "top", most = n, key_of = key, fn = key, signature = n }, function(source)
    local greatest = best.of(n, key)
    if compile.loop({}, greatest.put)(source) < 0 then c.fail() end
    local rows = greatest.rows()
    for i, row in ipairs(rows) do rows[i] = as_value(row.a, row.b) end
    return rows
  end)
end

-- ---- numbers ----

local function check_number(name)
  return function(a, b)
    if type(a) == "number" and b == nil then return end
    error(("%s takes numbers, got %s"):format(name, b ~= nil and "a pair" or "a " .. type(a)), 0)
  end
end

---Returns the sum of numeric rows; 0 without rows.
---```lua
---print(actor.mapreduce.range(1, 100):sum())  --> 5050
---```
---@return number
function Dataset:sum() return reduced(self, "sum", natives.sum, check_number("sum")) or 0 end

---Returns the least of numeric rows; nil without rows.
---```lua
---print(actor.mapreduce.parallelize({ 4, 2, 8 }):min())  --> 2
---```
---@return number?
function Dataset:min() return reduced(self, "min", natives.min, check_number("min")) end

---Returns the greatest of numeric rows; nil without rows.
---```lua
---print(actor.mapreduce.parallelize({ 4, 2, 8 }):max())  --> 8
---```
---@return number?
function Dataset:max() return reduced(self, "max", natives.max, check_number("max")) end

---Returns the mean of numeric rows; nil without rows.
---```lua
---print(actor.mapreduce.range(1, 100):mean())  --> 50.5
---```
---@return number?
function Dataset:mean()
  local check_row = check_number("mean")
  local function step(sum, a, b)
    check_row(a, b)
    sum[1], sum[2] = sum[1] + 1, sum[2] + a
    return sum
  end
  return folded(self, "mean", { start = function() return { 0, 0 } end, step = step }, function(parts)
    local count, sum = 0, 0
    for _, part in ipairs(parts) do count, sum = count + part[1], sum + part[2] end
    if count > 0 then return sum / count end
  end)
end

-- The counts of `counted` as a table from key to count.
local function counts_of(counted, name)
  local out = {}
  for _, pair in ipairs(act(counted, name, { kind = "rows" }, all_rows(name))) do
    if pair[1] ~= pair[1] then
      check.fail("mapreduce.%s: NaN is no key of a Lua table; filter it out, or count with reduce_by_key", name)
    end
    if type(pair[1]) == "table" then
      check.fail("mapreduce.%s: a Lua table does not find an array by its elements; count with reduce_by_key", name)
    end
    out[pair[1]] = pair[2]
  end
  return out
end

---Counts how often each row occurs. Returns a table from row (a number, text or boolean) to count, in the memory of
---each node.
---```lua
---print(actor.mapreduce.parallelize({ "a", "b", "a" }):count_by_value().a)  --> 2
---```
---@return table<any, integer>
function Dataset:count_by_value()
  local function one(a, b)
    if b ~= nil then error("count_by_value takes rows that are single values, got a pair (see count_by_key)", 0) end
    return a, 1
  end
  return counts_of(self:map(one):reduce_by_key(natives.sum), "count_by_value")
end

---Counts the pairs of each key. Returns a table from key to count, in the memory of each node.
---```lua
---print(actor.mapreduce.parallelize({ { "a", 1 }, { "a", 2 } }):count_by_key().a)  --> 2
---```
---@return table<any, integer>
function Dataset:count_by_key()
  return counts_of(self:keys():map(natives.one):reduce_by_key(natives.sum), "count_by_key")
end

---Calls `fn` with each row (a pair as two arguments), on the node that holds the row. After the loss of a node, a task
---that runs again repeats its calls.
---```lua
---local seen = actor.mapreduce.accumulator(0)
---actor.mapreduce.range(1, 5):foreach(function(n) seen:add(n) end)
---print(seen:value())  --> 15
---```
---@param fn fun(row: any, second: any)
function Dataset:foreach(fn)
  check.arg(fn, "function", "fn", "mapreduce.foreach")
  act(self, "foreach", { kind = "foreach", fn = functions.freeze(fn) }, function() return nil end)
end
Dataset.for_each = Dataset.foreach

return { folded = folded, check_number = check_number }
