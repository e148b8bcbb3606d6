--- The greatest values of each key. Each task selects the greatest values of each key in its own partition, so the
--- tasks send little more than the result. group_by_key then groups these lists in the order of the partitions, and the
--- last step selects the greatest values of each group.
local best = require("actor.mapreduce.best")
local check = require("actor.check")
local compile = require("actor.mapreduce.compile")
local datasets = require("actor.mapreduce.dataset")
local functions = require("actor.mapreduce.functions")

local Dataset = datasets.Dataset
local as_pair, one = compile.as_pair, compile.one

local HELD = 65536 -- the most values that a task holds; it then writes out their lists and begins again
local NAN = {} -- in place of NaN, which cannot be a key of a table

-- Returns a function on the rows of a partition. It iterates over pairs `key, {greatest values}`, in the order of the
-- keys' first rows.
local function greatest_of(most, key_of)
  return function(rows)
    local held, order, count, ended = {}, {}, 0, false
    local function take(k, v)
      k, v = as_pair(k, v)
      local key = v
      if key_of then key = one(key_of(v)) end
      local slot = k ~= k and NAN or k
      local items = held[slot]
      if not items then
        items = {}
        held[slot], order[#order + 1] = items, k
      end
      local before = #items
      best.insert(items, { key = key, value = v }, most)
      count = count + #items - before
    end
    local at = 0
    local function next_held()
      at = at + 1
      local k = order[at]
      if k == nil then return nil end
      local values = {}
      for i, item in ipairs(held[k ~= k and NAN or k]) do values[i] = item.value end
      return k, values
    end
    return function()
      local k, values = next_held()
      if k ~= nil or ended then return k, values end
      held, order, count, at, ended = {}, {}, 0, 0, true
      for a, b in rows do
        take(a, b)
        if count >= HELD then
          ended = false
          break
        end
      end
      return next_held()
    end
  end
end

---Selects the `n` greatest values of each key, as `key, {values}`, the greatest first; of equal values the earlier
---value is first. Compares the values, or the results of `by(value)` if it is given: numbers or texts.
---```lua
---local best = actor.mapreduce.parallelize({ { "a", 1 }, { "a", 5 }, { "a", 3 } }):top_by_key(2)
---print(unpack(best:first()[2]))  --> 5 3
---```
---@param n integer
---@param by? fun(value: any): number|string
---@param options? {partitions?: integer}
---@return actor.mapreduce.Dataset
function Dataset:top_by_key(n, by, options)
  datasets.check(self, "top_by_key")
  check.integer(n, "n", "mapreduce.top_by_key", 1)
  if by ~= nil then by = functions.freeze(functions.given(by, "by", "top_by_key")) end
  local local_best = self:map_partition(greatest_of(n, by))
  local_best.shown, local_best.signature, local_best.prepare = "top_by_key", n, by
  local function merged(lists)
    if #lists == 1 then return lists[1] end
    local items, values = {}, {}
    for _, list in ipairs(lists) do
      for _, value in ipairs(list) do
        local key = value
        if by then key = by(value) end
        best.insert(items, { key = key, value = value }, n)
      end
    end
    for i, item in ipairs(items) do values[i] = item.value end
    return values
  end
  local result = local_best:group_by_key(options):map_values(merged)
  result.shown = "top_by_key"
  return result
end

return Dataset
