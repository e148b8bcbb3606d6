--- Small helpers for every module: iteration in key order, tables joined, whole files.
local check = require("actor.check")

local M = {}

---Returns the keys of a table: numbers in order, then strings in byte order, then false and true.
---@param t table
---@return any[]
function M.sorted_keys(t)
  local numbers, strings, has_false, has_true = {}, {}, false, false
  for key in pairs(t) do
    local kind = type(key)
    if kind == "number" then
      numbers[#numbers + 1] = key
    elseif kind == "string" then
      strings[#strings + 1] = key
    elseif key == false then
      has_false = true
    elseif key == true then
      has_true = true
    else
      check.fail("a %s key has no order (numbers, strings and booleans have)", kind)
    end
  end
  table.sort(numbers)
  table.sort(strings)
  local count = #numbers
  for i = 1, #strings do numbers[count + i] = strings[i] end
  if has_false then numbers[#numbers + 1] = false end
  if has_true then numbers[#numbers + 1] = true end
  return numbers
end

---Iterates like `pairs`, but in key order, which is the same in every VM (the order of `pairs` is not). Skips keys
---added or removed during the iteration.
---@generic K, V
---@param t table<K, V>
---@return fun(): K, V
function M.pairs(t)
  check.arg(t, "table", "t", "actor.pairs")
  local keys = M.sorted_keys(t)
  local i = 0
  return function()
    while true do
      i = i + 1
      local key = keys[i]
      if key == nil then return nil end
      local value = t[key]
      if value ~= nil then return key, value end
    end
  end
end

---Returns a new table with the fields of the given tables; of equal keys the last value counts.
---@param ... table
---@return table
function M.merged(...)
  local out = {}
  for i = 1, select("#", ...) do
    for key, value in pairs((select(i, ...))) do out[key] = value end
  end
  return out
end

---Returns a new array with the elements of the given arrays.
---@param ... any[]
---@return any[]
function M.joined(...)
  local out = {}
  for i = 1, select("#", ...) do
    for _, value in ipairs((select(i, ...))) do out[#out + 1] = value end
  end
  return out
end

---Reads a whole file.
---@param path string
---@return string? text
---@return string? message
function M.read(path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message end
  local text
  text, message = file:read("*a") -- nil for a folder
  file:close()
  return text, not text and path .. ": " .. message or nil
end

return M
