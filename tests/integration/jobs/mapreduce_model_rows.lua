--- The rows of mapreduce_model.lua: random rows, and their text for comparisons. In the model a row is {a} or, as a
--- pair, {a, b}.
local actor = require "actor"

local M = {}

-- ---- texts ----

local function text(value)
  if type(value) == "number" and (value == 0 or value ~= value) then return value == 0 and "0" or "NaN" end
  if type(value) ~= "table" then return type(value):sub(1, 1) .. tostring(value) end
  local out, last = {}, 0
  for i in pairs(value) do last = math.max(last, i) end
  for i = 1, last do out[i] = value[i] == nil and "-" or text(value[i]) end
  return "{" .. table.concat(out, ",") .. "}"
end

--- The row as an element of a dataset.
function M.as_value(row) return row[2] ~= nil and row or row[1] end

local function by_text(a, b) return text(a) < text(b) end

---@param values any[]
---@return any[]
function M.sorted(values)
  local copy = {}
  for i, value in ipairs(values) do copy[i] = value end
  table.sort(copy, by_text)
  return copy
end

--- The result as one text; in order if the order is known.
function M.texts(values, ordered)
  local out = {}
  for i, value in ipairs(values) do out[i] = text(value) end
  if not ordered then table.sort(out) end
  return table.concat(out, " ")
end

--- The result as one text, in order; distinguishes 0 and -0.
function M.exactly(value)
  if type(value) ~= "table" then return value == 0 and tostring(value) or text(value) end
  local out, last = {}, 0
  for i in pairs(value) do last = math.max(last, i) end
  for i = 1, last do out[i] = value[i] == nil and "-" or M.exactly(value[i]) end
  return "{" .. table.concat(out, ",") .. "}"
end

--- The identity of a key: all NaN are one key.
function M.id(key)
  if key ~= key then return "NaN" end
  return key
end

--- The concatenated results of `fn` for each row.
function M.each(rows, fn)
  local out = {}
  for _, row in ipairs(rows) do
    for _, new in ipairs({ fn(row) }) do out[#out + 1] = new end
  end
  return out
end

M.text = text

-- ---- random numbers and sources ----

local rng -- of the present case

--- Nodes that pass equal arguments draw equal numbers from here on.
function M.begin(seed, case) rng = actor.rng(seed, case) end

--- An integer from `low` to `high`.
function M.int(low, high) return rng:int(low, high) end

--- A random element of an array.
function M.pick(array) return array[rng:int(1, #array)] end

local pick = M.pick

local make_value = {
  number = function()
    if rng:int(1, 25) == 1 then return pick { 0 / 0, -0, 1 / 0, -1 / 0 } end
    return rng:int(-8, 8) / pick { 1, 1, 2 }
  end,
  text = function() return pick { "", "a", "b", "ab", "Ab", "longer than eight bytes", "a\0b", "\255" } .. pick { "", "", "x" } end,
}

local make_row
function make_row(kind)
  if kind == "boxes" then return { make_row("pairs") } end
  if kind == "pairs" then
    local key = pick { make_value.number, make_value.number, make_value.text, function() return rng:int(0, 1) == 1 end }
    return { key(), rng:int(-20, 20) }
  end
  return { make_value[kind]() }
end

--- A case without operations.
function M.make_source()
  local kind = pick { "number", "text", "pairs", "pairs", "boxes" }
  local rows = {}
  for i = 1, pick { 0, 1, 2, 5, 17, 60, 100 } do rows[i] = make_row(kind) end
  return { op = "source", kind = kind, rows = rows, partitions = pick { 1, 2, 3, 7 }, inputs = {} }
end

return M
