--- Datasets: what a pipeline is made of. Each is a node of a lazy graph that knows its parents and how its rows come from
--- theirs; nothing runs before an action (run.lua). Operations that work row by row are *narrow*: partition i comes from
--- partition i of the parent; the others are *wide* and need rows from everywhere.
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
---@field partitions? integer of sources and wide operations
---@field plan? fun(planner: actor.mapreduce.Planner, dataset: actor.mapreduce.Dataset): actor.mapreduce.Stage of wide ones
---@field keyed? boolean pairs that are spread by the hash of their key, by as many partitions as there are
---@field kept? "memory"|"disk" where the rows stay (kept.lua)
---@field stage? actor.mapreduce.Stage that has made the kept rows
---@field hold? userdata on them (releases.lua)
local Dataset = {}
Dataset.__index = Dataset
setmetatable(Dataset, check.strict("dataset:", "partitions", "kept"))

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
function M.is(value)
  return type(value) == "table" and getmetatable(value) == Dataset
end

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

---Replaces each row by what `fn(row)` returns; two results are a pair. A function gets a pair as two arguments.
Dataset.map = narrow("map") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset

---Keeps the rows for which `fn(row)` returns something true.
Dataset.filter = narrow("filter") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset

---Replaces each row by any number of rows: `fn(row)` returns an iterator, an array, or the rows as results.
Dataset.flatmap = narrow("flatmap") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset
Dataset.flat_map = Dataset.flatmap

---Replaces the rows of each partition: `fn` gets an iterator over them and the partition's number (from 1), and returns
---rows as flatmap's function does.
Dataset.map_partition = narrow("map_partition") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset
Dataset.map_partitions = Dataset.map_partition

---Replaces the value of each pair by `fn(value)`. Keys, and so where rows lie, do not change.
Dataset.map_values = narrow("map_values") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset

---Replaces each pair by any number of pairs with the same key: `fn(value)` returns values as flatmap's does rows.
Dataset.flatmap_values = narrow("flatmap_values") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset
Dataset.flat_map_values = Dataset.flatmap_values

---Makes a pair of each row, with `fn(row)` as key and the row as value.
Dataset.key_by = narrow("key_by") ---@type fun(self: actor.mapreduce.Dataset, fn: function): actor.mapreduce.Dataset

---Returns the checked `partitions` of an operation's options. Their `barrier` is the rule at the stage's end, which
---every row has to pass: bsp is the only rule that loses no row.
---@param options? {partitions?: integer, barrier?: "bsp"}
---@param operation string
---@return integer?
function M.check_partitions(options, operation)
  check.options(options or {}, { partitions = "number?", barrier = "string|function|table?" }, "mapreduce." .. operation)
  local barrier = options and options.barrier or "bsp"
  if barrier ~= "bsp" then
    check.fail("mapreduce.%s cannot honour barrier %s: what follows needs every row, so its stage ends with bsp; dataset:iterate takes any rule",
      operation, type(barrier) == "string" and ("'%s'"):format(barrier) or "given as a " .. type(barrier))
  end
  local partitions = options and options.partitions
  if partitions then check.integer(partitions, "partitions", "mapreduce." .. operation, 1, 100000) end
  return partitions
end

---The plan of wide operations that exchange rows once: by the kinds of output and input that they name.
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
