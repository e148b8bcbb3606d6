--- Operations on whole rows: unions, sets, and partitioning.
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local readers = require("actor.mapreduce.readers")
local util = require("actor.util")
local api = require("actor.ffi")("mapreduce")

local Dataset = datasets.Dataset

local function check_other(self, other, op)
  datasets.check(self, op)
  if not datasets.is(other) then check.wrong("other", "mapreduce." .. op, "a dataset", other) end
end

-- ---- union ----

-- The inputs of a stage as branches of a union: its own branches, or the whole stage as one.
local function branches_of(stage)
  if stage.input.branches then return stage.input.branches end
  return { { input = stage.input, ops = {}, first = 0, tasks = stage.tasks, need = 0 } }
end

-- Whether a task of the stage needs the output of at most one other task.
local function is_narrow(stage)
  local kind = stage.input.kind
  return kind == "source" or kind == "union" or (kind == "rows" and not stage.needs[1].wide)
end

local function plan_union(planner, dataset)
  local branches, needs, first = {}, {}, 0
  for _, parent in ipairs(dataset.parents) do
    local stage = planner:open(parent)
    if not is_narrow(stage) then stage = planner:reading(planner:close(stage, { kind = "rows" }, 1)) end
    for _, branch in ipairs(branches_of(stage)) do
      local ops = util.joined(branch.ops, stage.ops)
      branches[#branches + 1] = {
        input = branch.input, ops = ops, first = first + branch.first, tasks = branch.tasks, need = #needs + branch.need,
      }
    end
    for _, need in ipairs(stage.needs) do
      needs[#needs + 1] = { stage = need.stage, wide = false, first = first + (need.first or 0) }
    end
    first = first + stage.tasks
  end
  return planner:stage { tasks = first, input = { kind = "union", branches = branches, dataset = dataset }, needs = needs }
end

---Returns the rows of this dataset and then the rows of the others.
---```lua
---local mr = actor.mapreduce
---print(mr.range(1, 3):union(mr.range(3, 4)):count())  --> 5
---```
---@param ... actor.mapreduce.Dataset
---@return actor.mapreduce.Dataset
function Dataset:union(...)
  local parents = { self, ... }
  for i = 1, math.max(2, select("#", ...) + 1) do check_other(self, parents[i], "union") end
  return datasets.new { kind = "wide", op = "union", parents = parents, plan = plan_union }
end

-- ---- sets ----

local function set_operation(op, parents, input, options)
  return datasets.new {
    kind = "wide", op = op, parents = parents, plan = datasets.exchange, output = "distinct", input = input,
    partitions = datasets.check_partitions(options, op),
  }
end

---Removes duplicate rows. Raises for rows with tables, which cannot be compared.
---```lua
---print(actor.mapreduce.parallelize({ "a", "b", "a" }):distinct():count())  --> 2
---```
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:distinct(options)
  datasets.check(self, "distinct")
  return set_operation("distinct", { self }, "distinct", options)
end

---Returns the distinct rows that both datasets have.
---```lua
---local mr = actor.mapreduce
---print(unpack(mr.range(1, 5):intersection(mr.range(4, 9)):sort():collect()))  --> 4 5
---```
---@param other actor.mapreduce.Dataset
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:intersection(other, options)
  check_other(self, other, "intersection")
  return set_operation("intersection", { self, other }, "set", options)
end

---Returns the distinct rows that the other dataset lacks.
---```lua
---local mr = actor.mapreduce
---print(unpack(mr.range(1, 5):subtract(mr.range(4, 9)):sort():collect()))  --> 1 2 3
---```
---@param other actor.mapreduce.Dataset
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:subtract(other, options)
  check_other(self, other, "subtract")
  return set_operation("subtract", { self, other }, "set", options)
end

-- ---- each with each ----

local HELD = 4096 -- rows of this dataset in memory while a task reads all rows of the other

local function open_cartesian()
  local as_value = compile.as_value
  local function read(source, rest)
    local pull, more = readers.puller(source), true
    while more do
      local held, n = {}, 0
      while n < HELD do
        local there, a, b = pull()
        if not there then
          more = false
          break
        end
        n = n + 1
        held[n] = as_value(a, b)
      end
      if n > 0 then
        local result = readers.each(compile.required(api.needed_of(api.streams, 1, 0)), function(a, b)
          local other = as_value(a, b)
          for i = 1, n do rest(held[i], other) end
        end)
        if result < 0 then return result end
      end
    end
    return 0
  end
  return function() return compile.required(api.needed(api.streams, 0)) end, { read = read }
end

local function plan_cartesian(planner, dataset)
  local left = planner:rows(dataset.parents[1])
  local right = planner:close(planner:open(dataset.parents[2]), { kind = "shared" }, math.max(1, left.tasks))
  return planner:stage {
    tasks = left.tasks, input = { kind = "own", dataset = dataset, open = open_cartesian },
    needs = { { stage = left, wide = false }, { stage = right, wide = true } },
  }
end

---Makes a pair of each row of this dataset with each row of the other.
---```lua
---local mr = actor.mapreduce
---print(mr.range(1, 3):cartesian(mr.range(1, 4)):count())  --> 12
---```
---@param other actor.mapreduce.Dataset the smaller dataset: every task reads all of it
---@return actor.mapreduce.Dataset
function Dataset:cartesian(other)
  check_other(self, other, "cartesian")
  return datasets.new { kind = "wide", op = "cartesian", parents = { self, other }, plan = plan_cartesian }
end

-- ---- partitioning ----

---Distributes the rows again, over `partitions` partitions, by the hash of a pair's key or else of the row.
---```lua
---print(actor.mapreduce.range(1, 100):shuffle(4):count())  --> 100
---```
---@param partitions? integer
---@return actor.mapreduce.Dataset
function Dataset:shuffle(partitions)
  datasets.check(self, "shuffle")
  partitions = datasets.check_partitions({ partitions = partitions }, "shuffle")
  return datasets.new {
    kind = "wide", op = "shuffle", parents = { self }, partitions = partitions, plan = datasets.exchange, output = "buckets", input = "rows",
  }
end
Dataset.repartition = Dataset.shuffle

local function plan_coalesce(planner, dataset)
  local before = planner:open(dataset.parents[1])
  if before.tasks <= dataset.partitions then return before end
  planner:close(before, { kind = "merged" }, dataset.partitions)
  return planner:stage {
    tasks = dataset.partitions, input = { kind = "rows", dataset = dataset }, needs = { { stage = before, wide = true } },
  }
end

---Joins neighbouring partitions to `partitions` partitions. Rows stay in order.
---```lua
---print(actor.mapreduce.range(1, 100):coalesce(2):count())  --> 100
---```
---@param partitions integer
---@return actor.mapreduce.Dataset
function Dataset:coalesce(partitions)
  datasets.check(self, "coalesce")
  check.integer(partitions, "partitions", "mapreduce.coalesce", 1, 100000)
  return datasets.new { kind = "wide", op = "coalesce", parents = { self }, partitions = partitions, plan = plan_coalesce }
end

return Dataset
