--- Sorting: a sample sort. Tasks store their rows with a sample of the keys. One task chooses splitters from the
--- samples, which divide the keys into ranges of about the same size. Then rows move to the task of their range, which
--- sorts them, on disk if they do not fit into memory. Equal keys stay in the order of the rows. Keys are numbers,
--- texts, booleans or tuples, all of one kind. NaN is greater than all other numbers, texts are compared by their
--- bytes, and false is less than true. Tuples are compared element by element: booleans are less than numbers, and
--- numbers less than texts.
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")
local natives = require("actor.mapreduce.natives")
local outputs = require("actor.mapreduce.outputs")
local api = require("actor.ffi")("mapreduce")
local c = require("actor.c.mapreduce")

local Dataset = datasets.Dataset

-- Samples of a range on average, and of a task at least: ranges then differ in length by some 12 %.
local SAMPLES_OF_RANGE, SAMPLES_OF_TASK = 64, 256

local some = compile.some

-- ---- outputs of tasks ----

-- Writes each row, under its key from `fn`, into a sink that `make` opens for each task.
local function written_under(make, fn)
  local put_under, bind = compile.keyed_writer()
  local function put(a, b) put_under(some(fn(a, b)), a, b) end
  return put, function() bind(compile.required(make())) end
end

-- Writes rows unchanged, to be sorted by their first value, or under their key from the operation's function.
local function keyed_rows(dataset, make)
  if not dataset.fn then return (dataset.pairs and outputs.written_pairs or outputs.written)(make) end
  return written_under(make, dataset.fn)
end

function outputs.sort_rows(stage)
  return keyed_rows(stage.output.dataset, function() return api.placed(api.streams, 1) end)
end

function outputs.sampled(stage)
  local most = math.max(SAMPLES_OF_TASK, math.ceil(SAMPLES_OF_RANGE * stage.output.ranges / math.max(1, stage.tasks)))
  return keyed_rows(stage.output.dataset, function() return api.sampled(api.streams, most) end)
end

function outputs.ranges(stage)
  local dataset = stage.output.dataset
  return outputs.written(function()
    return api.ranges(api.streams, compile.required(api.needed_of(api.streams, 1, 0)), dataset.descending and 1 or 0)
  end)
end

-- The second of two tasks reads all samples (bucket 1 of each task) and writes splitters to bucket 0, which all tasks
-- read.
local function choose_splitters(stage)
  local dataset, ranges = stage.input.dataset, stage.input.ranges
  return function(task)
    local sink = compile.required(api.placed(api.streams, stage.buckets))
    if task == 1 then return end
    local samples = compile.required(api.needed_of(api.streams, 0, 1))
    if api.splitters(api.streams, samples, sink, ranges, dataset.descending and 1 or 0) ~= 0 then c.fail() end
  end
end

-- ---- the plan ----

local function plan_sort(planner, dataset)
  local ranges = planner:partitions(dataset)
  local input = { kind = "sorted", dataset = dataset }
  local before = planner:open(dataset.parents[1])
  if ranges == 1 then
    planner:close(before, { kind = "sort_rows", dataset = dataset }, 1)
    return planner:stage { tasks = 1, input = input, needs = { { stage = before, wide = true } } }
  end
  planner:close(before, { kind = "sampled", dataset = dataset, ranges = ranges }, 2)
  local splitters = planner:stage {
    tasks = 2, program = choose_splitters, input = { kind = "own", dataset = dataset, ranges = ranges },
    needs = { { stage = before, wide = true } },
  }
  planner:close(splitters, { kind = "shared" }, math.max(1, before.tasks))
  local ranged = planner:stage {
    tasks = before.tasks, input = { kind = "rows" },
    needs = { { stage = before, wide = false }, { stage = splitters, wide = true } },
  }
  planner:close(ranged, { kind = "ranges", dataset = dataset }, ranges)
  return planner:stage { tasks = ranges, input = input, needs = { { stage = ranged, wide = true } } }
end

local sort_options = { descending = "boolean?", partitions = "number?", barrier = "string|function|table?" }

local function sorted(op, parent, options, fields)
  datasets.check(parent, op)
  options = check.optional_options(options, sort_options, "mapreduce." .. op)
  fields.kind, fields.op, fields.parents, fields.plan = "wide", op, { parent }, plan_sort
  fields.descending, fields.signature = options.descending, options.descending or false
  fields.partitions = datasets.check_partitions({ partitions = options.partitions, barrier = options.barrier }, op)
  return datasets.new(fields)
end

---Sorts all rows by `fn(row)`, across partitions, so that collect() returns them in order.
---```lua
---local words = actor.mapreduce.parallelize { "three", "a", "of" }
---print(unpack(words:sort_by(function(word) return #word end):collect()))  --> a of three
---```
---@param fn fun(a: any, b: any): any a number, a text, a boolean or an array of these; mr.identity for the row itself
---@param options? {descending?: boolean, partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:sort_by(fn, options)
  fn = functions.given(fn, "fn", "sort_by")
  if fn == natives.identity then return sorted("sort_by", self, options, {}) end
  return sorted("sort_by", self, options, { fn = functions.freeze(fn) })
end

---Sorts all pairs by their keys.
---```lua
---local sorted = actor.mapreduce.parallelize({ { "b", 1 }, { "a", 2 } }):sort_by_key()
---print(sorted:first()[1])  --> a
---```
---@param options? {descending?: boolean, partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:sort_by_key(options) return sorted("sort_by_key", self, options, { pairs = true }) end

---Sorts all rows by their own value; pairs by their keys.
---```lua
---print(unpack(actor.mapreduce.parallelize({ 3, 1, 2 }):sort { descending = true }:collect()))  --> 3 2 1
---```
---@param options? {descending?: boolean, partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:sort(options) return sorted("sort", self, options, {}) end

return Dataset
