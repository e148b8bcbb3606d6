--- Scalar products and trimmed means of updates in Lua: numbers, tensors and tables of them.
local tensor = require("actor.tensor")
local util = require("actor.util")

local M = {}

local function is_tensor(value) return type(value) == "cdata" and tensor.is_tensor(value) end

---@param a any
---@param b any of the same shape
---@return number
function M.dot(a, b)
  if type(a) == "number" then return a * b end
  if is_tensor(a) then return a:flatten():dot(b:flatten()) end
  local sum = 0
  for key, value in util.pairs(type(a) == "table" and a or {}) do sum = sum + M.dot(value, b[key]) end
  return sum
end

---Returns for each number the mean of the updates without the `trim` smallest and greatest.
---@param updates any[] of the same shape
---@param trim integer
---@return any
function M.trimmed_mean(updates, trim)
  local first = updates[1]
  if type(first) == "number" then
    local sorted, sum = {}, 0
    for i, value in ipairs(updates) do sorted[i] = value end
    table.sort(sorted)
    for i = trim + 1, #sorted - trim do sum = sum + sorted[i] end
    return sum / (#sorted - 2 * trim)
  end
  if is_tensor(first) then
    return tensor.stack(updates, 1):sort(1):narrow(1, trim + 1, #updates - 2 * trim):mean(1)
  end
  local out = {}
  for key in util.pairs(first) do
    local parts = {}
    for i, update in ipairs(updates) do parts[i] = update[key] end
    out[key] = M.trimmed_mean(parts, trim)
  end
  return out
end

return M
