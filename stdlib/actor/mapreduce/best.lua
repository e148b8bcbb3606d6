--- The greatest rows of a stream: collected as rows arrive, cut from time to time.
local check = require("actor.check")
local some = require("actor.mapreduce.values").some

local M = {}

---@class actor.mapreduce.Best the n rows with the greatest keys, greatest first; among equal rows the earlier
---@field put fun(a: any, b: any)
---@field rows fun(): {a: any, b: any}[]

-- NaN is greater than all other numbers.
local function greater(x, y) return x > y or (x ~= x and y == y) end

-- The type of a sort key: a number or a text.
local function kind_of(key)
  local found = type(key)
  if found ~= "number" and found ~= "string" then error("rows are compared by numbers or texts, got a " .. found, 0) end
  return found
end

---@param most integer
---@param key_of? fun(a: any, b: any): number|string default the row itself
---@return actor.mapreduce.Best
function M.of(most, key_of)
  local rows, kind, arrived = {}, nil, 0
  local least -- the bound for new keys, once there are enough rows
  local function before(x, y)
    if greater(x.key, y.key) then return true end
    return not greater(y.key, x.key) and x.arrived < y.arrived
  end
  local function cut()
    table.sort(rows, before)
    for i = #rows, most + 1, -1 do rows[i] = nil end
    if most > 0 and #rows == most then least = rows[most].key end
  end
  local function put(a, b)
    local key = a
    if key_of then
      key = some(key_of(a, b))
    elseif b ~= nil then
      error("pairs need a function that gives what they are compared by", 0)
    end
    local found = kind_of(key)
    if found ~= (kind or found) then check.fail("mapreduce.top: a %s and a %s cannot be compared", kind, found) end
    kind = found
    if least ~= nil and not greater(key, least) then return end -- among equal rows the first stay
    arrived = arrived + 1
    rows[#rows + 1] = { key = key, arrived = arrived, a = a, b = b }
    if #rows >= 2 * most + 64 then cut() end
  end
  return { put = put, rows = function()
    cut()
    return rows
  end }
end

---Inserts an item among the greatest: greatest first, among equal items the earlier first.
---@param items {key: number|string}[] at most `most`
---@param item {key: number|string}
---@param most integer
function M.insert(items, item, most)
  local key, i = item.key, #items
  local kind, found = i > 0 and type(items[1].key), kind_of(key)
  if kind and found ~= kind then error(("a %s and a %s cannot be compared"):format(kind, found), 0) end
  while i > 0 and greater(key, items[i].key) do i = i - 1 end
  if i == most then return end
  table.insert(items, i + 1, item)
  items[most + 1] = nil
end

return M
