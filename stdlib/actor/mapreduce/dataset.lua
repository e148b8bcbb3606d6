--- Datasets: the elements of a pipeline. Each dataset is a node of a lazy graph: it knows its parents and how to
--- compute its rows from theirs. Nothing runs before an action (run.lua). Row-by-row operations are *narrow*: partition
--- i is computed from partition i of the parent. The others are *wide* and need rows from all partitions.
local check = require("actor.check")
local functions = require("actor.mapreduce.functions")
local natives = require("actor.mapreduce.natives")
local rounds = require("actor.console.rounds")
local node = require("actor.c.node")

---@class actor.mapreduce.Dataset
---@field id integer in order of definition, the same on every node
---@field kind string "source", "narrow", "wide"
---@field op string the operation's name
---@field where string the line that defined it
---@field parents actor.mapreduce.Dataset[]
---@field partitions? integer set for sources and wide operations
---@field plan? fun(planner: actor.mapreduce.Planner, dataset: actor.mapreduce.Dataset): actor.mapreduce.Stage set for
---wide operations
---@field keyed? boolean the pairs are partitioned by the hash of their key
---@field on_error? "keep" of map and map_values: a row whose function raises becomes a table with the error
---@field storage? "memory"|"disk" where the rows are stored (persist.lua)
---@field stage? actor.mapreduce.Stage the stage that made the stored rows
---@field hold? userdata keeps the stored rows (releases.lua)
local Dataset = check.class("dataset:", "on_error", "partitions", "storage")

function Dataset:__tostring()
  return ("dataset %d (%s, %s)"):format(self.id, self.op, self.where)
end

local M = { Dataset = Dataset }

local count = 0

---@param fields table
---@return actor.mapreduce.Dataset
function M.new(fields)
  count = rounds.after(count)
  fields.id, fields.where = count, node.position()
  fields.parents = fields.parents or {}
  return setmetatable(fields, Dataset)
end

---@param value any
---@return boolean
function M.is(value) return type(value) == "table" and getmetatable(value) == Dataset end

---Checks that a method was called on a dataset.
---@param self any
---@param op string
function M.check(self, op)
  if not M.is(self) then check.fail("call %s with a colon: dataset:%s(...)", op, op) end
end

-- A narrow operation with one function.
local function narrow(op)
  return function(self, fn)
    M.check(self, op)
    fn = functions.given(fn, "fn", op)
    local native = natives.of(fn)
    if not native then fn = functions.freeze(fn) end
    return M.new { kind = "narrow", op = op, parents = { self }, fn = fn, native = native }
  end
end

-- The same with the option `on_error`. An operation that retains errors needs Lua, so it has no native twin.
local function may_keep_errors(op)
  local plain = narrow(op)
  return function(self, fn, options)
    local made = plain(self, fn)
    options = check.optional_options(options, { on_error = "string?" }, "mapreduce." .. op)
    check.one_of(options.on_error or "fail", { "fail", "keep" }, "on_error", "mapreduce." .. op)
    if options.on_error == "keep" then made.on_error, made.signature, made.native = "keep", "keep", nil end
    return made
  end
end

---Replaces each row by the results of `fn(row)`; two results are a pair. A function gets a pair as two arguments. An
---error of `fn` fails the job; with `on_error = "keep"` the row becomes `{ error = message, row = row }`, so that a
---search over settings survives a failing trial.
---
---     local results = mr.parallelize(settings):map(trial, { on_error = "keep" }):collect()
---```lua
---print(unpack(actor.mapreduce.range(1, 3):map(function(n) return n * n end):collect()))  --> 1 4 9
---```
Dataset.map = may_keep_errors("map") ---@type fun(self: actor.mapreduce.Dataset, fn: function, options?: {on_error?: "fail"|"keep"}): actor.mapreduce.Dataset

---Keeps the rows for which `fn(row)` returns a true value.
---```lua
---print(actor.mapreduce.range(1, 10):filter(function(n) return n % 2 == 0 end):count())  --> 5
---```
Dataset.filter = narrow("filter") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset

---Replaces each row by any number of rows: `fn(row)` returns an iterator, an array, or the rows as results.
---```lua
---local lines = actor.mapreduce.parallelize { "to be", "or not to be" }
---print(lines:flatmap(function(line) return line:gmatch("%S+") end):count())  --> 6
---```
Dataset.flatmap = narrow("flatmap") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset
Dataset.flat_map = Dataset.flatmap

---Replaces the rows of each partition. `fn` gets an iterator over them and the partition's number (from 1), and returns
---rows like the function of flatmap.
---```lua
---local counts = actor.mapreduce.range(1, 10, 1, 2):map_partition(function(rows)
---  local n = 0
---  for _ in rows do n = n + 1 end
---  return { n }
---end)
---print(counts:sum())  --> 10
---```
Dataset.map_partition = narrow("map_partition") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset
Dataset.map_partitions = Dataset.map_partition

---Replaces the value of each pair by `fn(value)`. Keys, and so the partitioning, do not change. With
---`on_error = "keep"` the value of a pair whose function raises becomes `{ error = message, row = value }`.
---```lua
---local doubled = actor.mapreduce.parallelize({ { "a", 1 }, { "b", 2 } }):map_values(function(n) return 2 * n end)
---print(doubled:values():sum())  --> 6
---```
Dataset.map_values = may_keep_errors("map_values") ---@type fun(self: actor.mapreduce.Dataset, fn: function, options?: {on_error?: "fail"|"keep"}): actor.mapreduce.Dataset

---Replaces each pair by any number of pairs with the same key: `fn(value)` returns values as flatmap's `fn` returns
---rows.
---```lua
---local lines = actor.mapreduce.parallelize { { "a.txt", "to be" }, { "b.txt", "or" } }
---print(lines:flatmap_values(function(line) return line:gmatch("%S+") end):count())  --> 3
---```
Dataset.flatmap_values = narrow("flatmap_values") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset
Dataset.flat_map_values = Dataset.flatmap_values

---Makes a pair of each row, with `fn(row)` as key and the row as value.
---```lua
---local byword = actor.mapreduce.parallelize({ "one", "three" }):key_by(function(word) return #word end)
---for _, pair in ipairs(byword:sort_by_key():collect()) do print(pair[1], pair[2]) end
---
---
-----> 3 one
-----> 5 three
---```
Dataset.key_by = narrow("key_by") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset

---Returns the checked `partitions` of an operation's options. The option `barrier` is the rule at the end of the stage.
---Every row must pass it, and bsp is the only rule that loses no row.
---@param options? {partitions?: integer, barrier?: "bsp"}
---@param operation string
---@return integer?
function M.check_partitions(options, operation)
  check.options(options or {}, { partitions = "number?", barrier = "string|function|table?" }, "mapreduce." .. operation)
  local barrier = options and options.barrier or "bsp"
  if barrier ~= "bsp" then
    check.fail("mapreduce.%s cannot honour barrier %s: the next stage needs every row, so its stage ends with bsp; dataset:iterate takes any rule",
      operation, type(barrier) == "string" and ("'%s'"):format(barrier) or "given as a " .. type(barrier))
  end
  local partitions = options and options.partitions
  if partitions then check.integer(partitions, "partitions", "mapreduce." .. operation, 1, 100000) end
  return partitions
end

---The plan of wide operations with one exchange of rows, given by the kinds of output and input that they name.
---@param planner actor.mapreduce.Planner
---@param dataset actor.mapreduce.Dataset
---@return actor.mapreduce.Stage
function M.exchange(planner, dataset) return planner:exchange(dataset) end

---All rows in one partition, in order.
---@param dataset actor.mapreduce.Dataset
---@param op string
---@return actor.mapreduce.Dataset
function M.gathered(dataset, op)
  return M.new { kind = "wide", op = op, parents = { dataset }, partitions = 1, plan = M.exchange, output = "buckets", input = "rows" }
end

return M
