--- Distributed tables. A table has partitions (tensors or other values) with integer ids; each rank has some of them. A
--- combiner merges partitions with the same id, for example by their sum. This file has the local operations,
--- table_operations.lua the collective operations, and table_sharing.lua the access of all ranks to a shared table.
---
---     local counts = collective.table{ combiner = "sum" }
---     counts:add(7, 1)
---     counts:regroup()
local check = require("actor.check")
local combine = require("actor.collective.combine")
local util = require("actor.util")

local M = {}

local largest_id = 2 ^ 53

---@class actor.Table
---@field group actor.Collectives|nil the table's group; nil: all workers
---@field name string|nil
---@field parts table<integer, any> internal: this rank's partitions by id; while the table is shared only the ids count
---@field weights table<integer, number> internal: for a mean, the number of values in a partition, if not 1
---@field combiner actor.Combiner internal
---@field partitioner fun(id: integer, n: integer): integer internal
---@field bounded? fun(ids: integer[]): fun(): integer? internal: iterates over ids until a rotator's time bound
---@field sharing table|nil internal: the state of sharing, between a regroup() and its end
local Table = check.class("table:", "group", "name")

local function by_remainder(id, n) return id % n end

local function check_id(id, fn) check.integer(id, "id", fn, -largest_id, largest_id) end

---@class actor.TableOptions
---@field combiner? "sum"|"mean"|"min"|"max"|"prod"|fun(a: any, b: any): any default "sum". A function returns the
---combined value and may change `a` and `b`. "mean" is the mean of all values ever set or added, with equal weights
---@field partitioner? fun(id: integer, n: integer): integer returns the owner rank of an id, 0 .. n-1; default id mod n
---@field group? actor.Collectives default: all workers
---@field name? string for messages; the same on every rank
---@field shared? boolean true: after `regroup` every rank may read and change all partitions, under `lock`

---Makes an empty table, without communication. Each rank must give the same options.
---```lua
---local counts = actor.collective.table { combiner = "sum" }
---counts:add(17, 3)
---counts:add(17, 4)
---print(counts:get(17))  --> 7
---```
---@param options? actor.TableOptions
---@return actor.Table
function M.new(options)
  local fn = "collective.table"
  options = check.optional_options(options, {
    combiner = "string|function?", partitioner = "function?", group = "table?", name = "string?", shared = "boolean?",
  }, fn)
  local group = options.group
  if group and type(group.number) ~= "number" then check.wrong("group", fn, "a group of collective.group", group) end
  return setmetatable({
    combiner = combine.new(options.combiner, fn), partitioner = options.partitioner or by_remainder, group = group,
    name = options.name, shared = options.shared or false, parts = {}, weights = {},
  }, Table)
end

---@param value any
---@return boolean
function M.is_table(value) return type(value) == "table" and getmetatable(value) == Table end

-- Raises if the table is shared: then its partitions may change only under locks.
local function check_own(self, fn)
  if self.sharing then
    check.fail("%s: the table is shared since its regroup(); use lock(), or unshare() it first", fn)
  end
end

---Sets a partition, in place of an earlier value. The table stores the value itself, not a copy.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(1, actor.tensor.ones(2))
---print(t:get(1))  --> tensor([1., 1.], float32)
---```
---@param id integer
---@param value any a tensor, a number or a plain Lua value; not nil
function Table:set(id, value)
  check_id(id, "table:set")
  if value == nil then check.wrong("value", "table:set", "a value (see remove)", value) end
  check_own(self, "table:set")
  self.parts[id], self.weights[id] = value, nil
end

---Adds a partition. If the id has a partition already, the combiner merges both; neither value is changed.
---```lua
---local t = actor.collective.table { combiner = "max" }
---t:add(1, 5)
---t:add(1, 3)
---print(t:get(1))  --> 5
---```
---@param id integer
---@param value any
function Table:add(id, value)
  check_id(id, "table:add")
  if value == nil then check.wrong("value", "table:add", "a value", value) end
  check_own(self, "table:add")
  local old = self.parts[id]
  if old == nil then
    self.parts[id] = value
    return
  end
  local fold = combine.fold(self.combiner)
  fold:add(id, old, self.weights[id])
  fold:add(id, value)
  local values, weights = fold:finish()
  if not values then check.fail("table:add: %s", weights) end
  self.parts[id], self.weights[id] = values[id], weights[id]
end

---Returns this rank's partition with this id, or nil if this rank has none. A shared table returns a copy of the newest
---value.
---```lua
---print(actor.collective.table({ combiner = "sum" }):get(7))  --> nil
---```
---@param id integer
---@return any|nil
function Table:get(id)
  check_id(id, "table:get")
  local value = self.parts[id]
  if value == nil or not self.sharing then return value end
  return self.sharing.read(id)
end

---Removes a partition.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(1, 5)
---t:remove(1)
---print(t:size())  --> 0
---```
---@param id integer
---@return any|nil value the removed value
function Table:remove(id)
  check_id(id, "table:remove")
  check_own(self, "table:remove")
  local value = self.parts[id]
  self.parts[id], self.weights[id] = nil, nil
  return value
end

---Returns the ids of this rank's partitions, in order.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(3, 1)
---t:set(1, 1)
---print(unpack(t:ids()))  --> 1 3
---```
---@return integer[]
function Table:ids() return util.sorted_keys(self.parts) end

---Returns the number of this rank's partitions.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(3, 1)
---print(t:size())  --> 1
---```
---@return integer
function Table:size()
  local count = 0
  for _ in pairs(self.parts) do count = count + 1 end
  return count
end

local function in_order(ids)
  local i = 0
  return function()
    i = i + 1
    return ids[i]
  end
end

---Iterates over this rank's partitions in the order of their ids. Partitions that the loop adds are not visited. In a
---rotator with a time bound the loop ends when the time is over. The next visit of these partitions continues at the
---id where the loop ended.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(2, "two")
---for id, value in t:pairs() do print(id, value) end  --> 2 two
---```
---@return fun(): integer, any
function Table:pairs()
  local next_id = (self.bounded or in_order)(self:ids())
  return function()
    while true do
      local id = next_id()
      if id == nil then return nil end
      local value = self:get(id)
      if value ~= nil then return id, value end
    end
  end
end

---Makes another table with copies of this rank's partitions. The new table is not shared.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(1, actor.tensor.zeros(1))
---local copy = t:copy()
---copy:get(1):add_(5)
---print(t:get(1):item(), copy:get(1):item())  --> 0 5
---```
---@return actor.Table
function Table:copy()
  local other = setmetatable(util.merged(self), Table)
  other.parts, other.weights, other.sharing = {}, {}, nil
  for id, value in self:pairs() do
    other.parts[id], other.weights[id] = combine.copy(value), self.weights[id]
  end
  return other
end

---Removes all of this rank's partitions.
---```lua
---local t = actor.collective.table { combiner = "sum" }
---t:set(1, 1)
---t:clear()
---print(t:size())  --> 0
---```
---@return actor.Table self
function Table:clear()
  check_own(self, "table:clear")
  self.parts, self.weights = {}, {}
  return self
end

for name, method in pairs(require("actor.collective.table_operations")) do Table[name] = method end
for name, method in pairs(require("actor.collective.table_sharing").methods) do Table[name] = method end

return M
