--- Arithmetic with the values of updates: numbers, tensors and tables of them. For rules that compute their own update
--- (`view:update`).
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

---Returns a + factor * b. Without `a`, or where a table `a` lacks a key of `b`, it counts as 0. Where `b` is nil, or
---lacks a key, `b` counts as 0.
---@param a any
---@param factor number
---@param b any
---@return any
function M.added(a, factor, b)
  if b == nil then return a end
  if type(b) ~= "table" then
    if a == nil then return b * factor end
    return a + b * factor
  end
  local out = {}
  for key, value in pairs(a or {}) do out[key] = value end
  for key, value in util.pairs(b) do out[key] = M.added(out[key], factor, value) end
  return out
end

---Returns the values that `fn` makes of the numbers and tensors of `a` and, if given, of the other values beside them.
---```lua
---local values = require("actor.merge.values")
---local sum = values.map(function(x, y) return x + y end, { w = 1, b = { 2 } }, { w = 10, b = { 20 } })
---print(sum.w, sum.b[1])  --> 11 22
---```
---@param fn fun(...): any
---@param a any
---@param ... any of the same shape
---@return any
function M.map(fn, a, ...)
  if type(a) ~= "table" then return fn(a, ...) end
  local out, others = {}, { ... }
  for key, value in util.pairs(a) do
    local beside = {}
    for i, other in ipairs(others) do beside[i] = other[key] end
    out[key] = M.map(fn, value, unpack(beside, 1, #others))
  end
  return out
end

---Returns zeros in the shape of `a`.
---@param a any
---@return any
function M.zeros(a)
  return M.map(function(x) return type(x) == "number" and 0 or tensor.zeros_like(x) end, a)
end

local function shape_of(value)
  if is_tensor(value) then return "a tensor of shape {" .. table.concat(value.shape, ", ") .. "}" end
  local kind = type(value)
  return kind == "table" and "a table" or kind == "nil" and "missing" or "a " .. kind
end

---Returns what is wrong with values that should have the shape of `like`: "'w' is a tensor of shape {2}, expected ...".
---@param given any
---@param like any
---@param name? string
---@return string?
function M.misfit(given, like, name)
  if type(given) == "table" and type(like) == "table" then
    for _, keys in ipairs { like, given } do
      for key in util.pairs(keys) do
        local fault = M.misfit(given[key], like[key], (name and name .. "." or "") .. tostring(key))
        if fault then return fault end
      end
    end
    return nil
  end
  local got, expected = shape_of(given), shape_of(like)
  if got == expected then return nil end
  return ("%s is %s, expected %s"):format(name and "'" .. name .. "'" or "the whole", got, expected)
end

return M
