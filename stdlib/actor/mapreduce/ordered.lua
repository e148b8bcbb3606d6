--- Operations that depend on the order of all rows, across partitions: numbering, prefix sums, windows, zipping. Tasks
--- store their rows with a summary (their number, their sum or the last rows). One task carries the summaries from each
--- partition to the later partitions. Then each task reads its rows, knowing the summary of all earlier rows.
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")
local outputs = require("actor.mapreduce.outputs")
local readers = require("actor.mapreduce.readers")
local util = require("actor.util")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local Dataset = datasets.Dataset

local required, as_value = compile.required, compile.as_value

---@class actor.mapreduce.Scan
---@field begin fun(): fun(a: any, b: any), fun(): any a task's first pass: receives each row, then returns the summary
---@field carry fun(summaries: any[], n: integer): any[] each task's `known`, from the summaries of all n tasks in order
---@field read fun(known: any, rest: fun(a: any, b: any)): fun(a: any, b: any) the second pass: receives each row
---@field fn? function the user's function
---@field signature? any other arguments that the result depends on

-- ---- summaries ----

local function into(sink, bucket)
  if api.into(api.streams, sink, bucket) ~= 0 then c.fail() end
end

-- Puts rows into bucket 0, and the summary, boxed, into bucket 1.
function outputs.summarised(stage)
  local put, open, _, sink = outputs.written(function() return api.placed(api.streams, 2) end)
  local begin = stage.output.begin
  local take, summary
  return function(a, b)
    take(a, b)
    put(a, b)
  end, function(task)
    open(task)
    take, summary = begin()
  end, function()
    into(sink(), 1)
    put({ summary() })
  end
end

-- The contents of a source's boxes, each of which may be nil; and the number of boxes.
local function read_boxes(source)
  local out, n = {}, 0
  local result = readers.each(required(source), function(box)
    n = n + 1
    out[n] = box[1]
  end)
  if result < 0 then c.fail() end
  return out, n
end

-- A stage of two tasks; the second reads bucket 1 of all tasks of the stages in `needs`. `carry` returns an array
-- with a value for each task of the next stage, and the length of the array.
local function plan_carry(planner, dataset, needs, carry)
  local function program(stage)
    return function(task)
      local put, bind = compile.writer()
      local sink = required(api.placed(api.streams, stage.buckets))
      bind(sink)
      if task == 1 then return end
      local known, n = carry()
      for i = 1, n do
        into(sink, i - 1)
        put({ known[i] })
      end
    end
  end
  local input = { kind = "own", dataset = dataset }
  local made = planner:stage { tasks = 2, program = program, input = input, needs = needs }
  return planner:close(made, { kind = "shared" }, math.max(1, needs[#needs].stage.tasks))
end

-- The two stages before a scan: the first stores the rows, the second computes each task's `known`.
local function plan_carried(planner, dataset, scan)
  local before = planner:close(planner:open(dataset.parents[1]), { kind = "summarised", begin = scan.begin, label = dataset }, 2)
  return before, plan_carry(planner, dataset, { { stage = before, wide = true } }, function()
    local summaries, n = read_boxes(api.needed_of(api.streams, 0, 1))
    return scan.carry(summaries, n), n
  end)
end

local function plan_scan(planner, dataset)
  local scan = dataset.scan
  local before, carried = plan_carried(planner, dataset, scan)
  local function open()
    local known
    local function read(source, rest) return readers.each(source, scan.read(known, rest)) end
    return function()
      known = read_boxes(api.needed(api.streams, 1))[1]
      return required(api.needed(api.streams, 0))
    end, { read = read }
  end
  return planner:stage {
    tasks = before.tasks, input = { kind = "own", dataset = dataset, open = open },
    needs = { { stage = before, wide = false }, { stage = carried, wide = true } },
  }
end

---@param scan actor.mapreduce.Scan
local function scanned(op, self, scan)
  datasets.check(self, op)
  return datasets.new {
    kind = "wide", op = op, parents = { self }, plan = plan_scan, scan = scan, fn = scan.fn, signature = scan.signature,
  }
end

-- ---- numbering ----

local function count_rows()
  local n = 0
  return function() n = n + 1 end, function() return n end
end

-- The number of rows before each partition, and the number of all rows.
local function offsets(counts)
  local out, sum = {}, 0
  for i, n in ipairs(counts) do out[i], sum = sum, sum + n end
  return out, sum
end

---Makes a pair of each row and its number, from 1, in the order of partitions.
---```lua
---local pair = actor.mapreduce.parallelize({ "a", "b" }):zip_with_index():collect()[2]
---print(pair[1], pair[2])  --> b 2
---```
---@return actor.mapreduce.Dataset
function Dataset:zip_with_index()
  return scanned("zip_with_index", self, {
    begin = count_rows, carry = offsets,
    read = function(i, rest)
      return function(a, b)
        i = i + 1
        rest(as_value(a, b), i)
      end
    end,
  })
end

-- ---- prefix sums ----

local function add(a, b) return a + b end

---Replaces each row by the combination, with `fn`, of all rows up to and including it.
---```lua
---print(unpack(actor.mapreduce.range(1, 4):prefix_sum():collect()))  --> 1 3 6 10
---```
---@param fn? fun(a: any, b: any): any associative; default the sum
---@return actor.mapreduce.Dataset
function Dataset:prefix_sum(fn)
  fn = functions.freeze(fn == nil and add or functions.given(fn, "fn", "prefix_sum"))
  local function combined(sum, value)
    if sum == nil then return value end
    return compile.some(fn(sum, value))
  end
  return scanned("prefix_sum", self, {
    fn = fn,
    begin = function()
      local sum
      return function(a, b) sum = combined(sum, as_value(a, b)) end, function() return sum end
    end,
    carry = function(sums, n)
      local out, sum = {}, nil
      for i = 1, n do
        out[i] = sum
        if sums[i] ~= nil then sum = combined(sum, sums[i]) end
      end
      return out
    end,
    read = function(sum, rest)
      return function(a, b)
        sum = combined(sum, as_value(a, b))
        rest(sum)
      end
    end,
  })
end

-- ---- windows ----

-- The last `most` of the given rows.
local function last_rows(most, rows)
  local n = #rows
  local out = {}
  for i = math.max(1, n - most + 1), n do out[#out + 1] = rows[i] end
  return out
end

---Makes an array of every `n` consecutive rows: of the rows 1 to n, of 2 to n + 1, and so on. Fewer than n rows give no
---array.
---```lua
---local windows = actor.mapreduce.range(1, 4):window(3):collect()
---print(#windows, unpack(windows[2]))  --> 2 2 3 4
---```
---@param n integer
---@return actor.mapreduce.Dataset
function Dataset:window(n)
  check.integer(n, "n", "mapreduce.window", 1, 1000000)
  local function slide(rows, a, b)
    rows[#rows + 1] = as_value(a, b)
    if #rows > 2 * n then return last_rows(n, rows) end
    return rows
  end
  return scanned("window", self, {
    signature = n,
    begin = function()
      local rows = {}
      return function(a, b) rows = slide(rows, a, b) end, function() return last_rows(n - 1, rows) end
    end,
    carry = function(lasts)
      local out, rows = {}, {}
      for i, last in ipairs(lasts) do
        out[i] = rows
        rows = last_rows(n - 1, util.joined(rows, last))
      end
      return out
    end,
    read = function(rows, rest)
      return function(a, b)
        rows = slide(rows, a, b)
        if #rows >= n then rest(last_rows(n, rows)) end
      end
    end,
  })
end

-- ---- zip ----

-- Puts each row of the second dataset into the bucket of the first dataset's partition that has the row of the same
-- number.
function outputs.by_number(stage)
  local put, open, _, sink = outputs.written(function() return api.placed(api.streams, math.max(1, stage.buckets)) end)
  local i, bucket, ends
  return function(a, b)
    i = i + 1
    while i > ends[bucket] do bucket = bucket + 1 end
    into(sink(), bucket - 1)
    put(a, b)
  end, function(task)
    open(task)
    local known = read_boxes(api.needed(api.streams, 1))[1]
    i, bucket, ends = known.before, 1, known.ends
  end
end

local function open_zip()
  local function read(source, rest)
    local pull = readers.puller(required(api.needed(api.streams, 1)))
    return readers.each(source, function(a, b)
      local _, other, value = pull()
      rest(as_value(a, b), as_value(other, value))
    end)
  end
  return function() return required(api.needed(api.streams, 0)) end, { read = read }
end

local function plan_zip(planner, dataset)
  local summarised = { kind = "summarised", begin = count_rows }
  local left = planner:close(planner:open(dataset.parents[1]), summarised, 2)
  local right = planner:close(planner:open(dataset.parents[2]), summarised, 2)
  local needs = { { stage = left, wide = true }, { stage = right, wide = true } }
  local compared = plan_carry(planner, dataset, needs, function()
    local counts = read_boxes(api.needed_of(api.streams, 0, 1))
    local ends, rows = offsets(counts)
    local before, others = offsets(read_boxes(api.needed_of(api.streams, 1, 1)))
    if rows ~= others then error(("the datasets have %d and %d rows"):format(rows, others), 0) end
    for i, n in ipairs(counts) do ends[i] = ends[i] + n end
    local known = {}
    for i, offset in ipairs(before) do known[i] = { before = offset, ends = ends } end
    return known, #before
  end)
  local moved = planner:stage {
    tasks = right.tasks, input = { kind = "rows" },
    needs = { { stage = right, wide = false }, { stage = compared, wide = true } },
  }
  planner:close(moved, { kind = "by_number" }, math.max(1, left.tasks))
  return planner:stage {
    tasks = left.tasks, input = { kind = "own", dataset = dataset, open = open_zip },
    needs = { { stage = left, wide = false }, { stage = moved, wide = true } },
  }
end

---Makes pairs of the first rows of both datasets, of the second rows, and so on. Both need the same number of rows.
---```lua
---local mr = actor.mapreduce
---local pair = mr.range(1, 3):zip(mr.parallelize { "a", "b", "c" }):first()
---print(pair[1], pair[2])  --> 1 a
---```
---@param other actor.mapreduce.Dataset
---@return actor.mapreduce.Dataset
function Dataset:zip(other)
  datasets.check(self, "zip")
  if not datasets.is(other) then check.wrong("other", "mapreduce.zip", "a dataset", other) end
  return datasets.new { kind = "wide", op = "zip", parents = { self, other }, plan = plan_zip }
end

return Dataset
