--- Rows made by the script itself: arrays, ranges. For rows of files see files.lua.
local check = require("actor.check")
local codec = require("actor.codec")
local dataset = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")
local plans = require("actor.mapreduce.plan")
local util = require("actor.util")

local M = {}

-- The end of part i when `n` things are cut into `parts` equal parts.
local function border(n, parts, i) return math.floor(n * i / parts) end

-- Returns the number of elements of an array. Raises for tables with other keys or nils in between, which would lose
-- rows.
local function length_of(array)
  local n, found = #array, 0
  for _ in pairs(array) do found = found + 1 end
  if found ~= n then
    check.fail("mapreduce.parallelize: the table is no array without gaps: it has %d values and a length of %d", found, n)
  end
  return n
end

---Makes a dataset of an array: each element is a row.
---```lua
---print(actor.mapreduce.parallelize({ 3, 1, 2 }):sum())  --> 6
---```
---@param array any[]
---@param partitions? integer
---@return actor.mapreduce.Dataset
function M.parallelize(array, partitions)
  check.arg(array, "table", "array", "mapreduce.parallelize")
  if partitions ~= nil then check.integer(partitions, "partitions", "mapreduce.parallelize", 1, 100000) end
  local n = length_of(array)
  partitions = partitions or math.max(1, math.min(plans.default_partitions(), n))
  local copy = util.joined(array)
  return dataset.new {
    kind = "source", op = "parallelize", partitions = partitions, signature = codec.hash(copy),
    source = {
      kind = "array", array = copy, part = function(i) return border(n, partitions, i - 1) + 1, border(n, partitions, i) end,
    },
  }
end

---Makes a dataset of the numbers from `first` to `last` in steps of `step`.
---```lua
---print(unpack(actor.mapreduce.range(1, 5):collect()))  --> 1 2 3 4 5
---```
---@param first number
---@param last number
---@param step? number default 1
---@param partitions? integer
---@return actor.mapreduce.Dataset
function M.range(first, last, step, partitions)
  check.number(first, "first", "mapreduce.range")
  check.number(last, "last", "mapreduce.range")
  if step ~= nil then check.number(step, "step", "mapreduce.range") end
  if partitions ~= nil then check.integer(partitions, "partitions", "mapreduce.range", 1, 100000) end
  step = step or 1
  if step == 0 or step - step ~= 0 then check.wrong("step", "mapreduce.range", "a finite number other than 0", step) end
  local n = math.max(0, math.floor((last - first) / step + 1e-9) + 1)
  if n - n ~= 0 or n > 2 ^ 53 then check.fail("mapreduce.range: from %s to %s is no finite range", first, last) end
  partitions = partitions or math.max(1, math.min(plans.default_partitions(), n))
  return dataset.new {
    kind = "source", op = "range", partitions = partitions, signature = { first, n, step, partitions },
    source = {
      kind = "range", first = first, step = step,
      part = function(i) return border(n, partitions, i - 1), border(n, partitions, i) end,
    },
  }
end

---Makes a dataset of the rows fn(1), fn(2), ... fn(n).
---```lua
---print(unpack(actor.mapreduce.generate(4, function(i) return i * i end):collect()))  --> 1 4 9 16
---```
---@param n integer
---@param fn fun(i: integer): any
---@param partitions? integer
---@return actor.mapreduce.Dataset
function M.generate(n, fn, partitions)
  check.integer(n, "n", "mapreduce.generate", 0, 2 ^ 53)
  fn = functions.given(fn, "fn", "generate")
  return M.range(1, n, 1, partitions):map(fn)
end

return M
