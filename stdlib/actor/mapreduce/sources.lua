--- Where rows come from: files, arrays, ranges.
local check = require("actor.check")
local codec = require("actor.codec")
local dataset = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")
local plans = require("actor.mapreduce.plan")
local c = require("actor.c.mapreduce")

local M = {}

local LEAST_SPLIT, MOST_SPLIT = 1024 * 1024, 64 * 1024 * 1024 -- bytes

-- Cuts files into splits of about the same size; compressed ones stay whole.
local function splits_of(files)
  local total = 0
  for _, file in ipairs(files) do total = total + file.bytes end
  -- Few and large, so that a table that combines by key meets its keys often.
  local size = math.min(math.max(math.ceil(total / plans.default_partitions()), LEAST_SPLIT), MOST_SPLIT)
  local splits = {}
  for _, file in ipairs(files) do
    if file.compressed then
      splits[#splits + 1] = { path = file.path }
    else
      local parts = math.ceil(file.bytes / size)
      for i = 1, parts do
        splits[#splits + 1] = {
          path = file.path, from = math.floor(file.bytes * (i - 1) / parts), to = math.floor(file.bytes * i / parts),
        }
      end
    end
  end
  return splits
end

---The lines of files, without their ends: `file://` or `unix://` and a path, a folder (all its files) or a glob. Files
---are cut on line borders and shared; gzip, Zstandard, xz and bzip2 are unpacked. Every node has to see the same files.
---@param url string
---@return actor.mapreduce.Dataset
function M.load(url)
  check.arg(url, "string", "url", "mapreduce.load")
  local path = url:match("^file://(.*)$") or url:match("^unix://(.*)$")
  if not path and url:find("^%a[%w+.-]*://") then
    check.fail("mapreduce.load: '%s' is not supported; give file://PATH, unix://PATH or a path", url:match("^(.-)://") .. "://")
  end
  local files, message = c.find_files(path or url)
  if not files then check.fail("mapreduce.load: %s", message) end
  local splits = splits_of(files)
  return dataset.new {
    kind = "source", op = "load", partitions = #splits, signature = codec.hash(files),
    source = { kind = "lines", splits = splits },
  }
end

-- Where the i-th of `parts` equal parts of `n` things ends.
local function border(n, parts, i) return math.floor(n * i / parts) end

---The elements of an array, each a row.
---@param array any[]
---@param partitions? integer
---@return actor.mapreduce.Dataset
function M.parallelize(array, partitions)
  check.arg(array, "table", "array", "mapreduce.parallelize")
  if partitions ~= nil then check.integer(partitions, "partitions", "mapreduce.parallelize", 1, 100000) end
  local n = #array
  partitions = partitions or math.max(1, math.min(plans.default_partitions(), n))
  local copy = {}
  for i = 1, n do copy[i] = array[i] end
  return dataset.new {
    kind = "source", op = "parallelize", partitions = partitions, signature = codec.hash(copy),
    source = {
      kind = "array", array = copy, part = function(i) return border(n, partitions, i - 1) + 1, border(n, partitions, i) end,
    },
  }
end

---The numbers from `first` to `last` in steps of `step`.
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

---The rows fn(1), fn(2), ... fn(n).
---@param n integer
---@param fn fun(i: integer): any
---@param partitions? integer
---@return actor.mapreduce.Dataset
function M.generate(n, fn, partitions)
  check.integer(n, "n", "mapreduce.generate", 0, 2 ^ 53)
  functions.check(fn, "fn", "generate")
  return M.range(1, n, 1, partitions):map(fn)
end

return M
