--- Functions with a native twin in C++. An operation that gets such a function, by name or value, runs the twin on the
--- rows' bytes, without a Lua value for each row. Called from Lua, the functions give the same results.
local util = require("actor.util")

local M = {}

---Splits a text at white space (C's isspace), as `text:gmatch("%S+")` does: for `flatmap(mr.words)`.
---@param text string
---@return fun(): string?
function M.words(text) return text:gmatch("%S+") end

---Makes a pair of the row and 1: for `map(mr.one)`, to count rows.
---@param row any
---@return any row
---@return integer one
function M.one(row) return row, 1 end

---Returns the sum of both numbers: for `reduce_by_key(mr.sum)`.
function M.sum(a, b) return a + b end

---Returns the smaller of both numbers; NaN is greater than all other numbers, as in a sort.
function M.min(a, b) return (b < a or a ~= a) and b or a end

---Returns the greater of both numbers, where NaN is the greatest.
function M.max(a, b) return (b > a or b ~= b) and b or a end

---Adds 1 to a count: for `aggregate_by_key(0, mr.count, mr.sum)`, `fold(0, mr.count)`.
---@param n integer
---@return integer
function M.count(n) return n + 1 end

---Returns the row itself: for `sort_by(mr.identity)`.
---@param ... any
---@return any ...
function M.identity(...) return ... end

-- By function: the name of its native twin.
local by_value = {
  [M.words] = "words", [M.sum] = "sum", [M.min] = "min", [M.max] = "max",
  [M.one] = "one", [string.lower] = "lower", [string.upper] = "upper",
  [tonumber] = "tonumber",
}

-- By native function on rows: the operation that accepts it.
M.operations = {
  words = "flatmap", one = "map", lower = "map", upper = "map", tonumber = "map", sample = "sample", keys = "keys",
  values = "values",
}

local by_name = {
  count = M.count, identity = M.identity, lower = string.lower, max = M.max, min = M.min, one = M.one, sum = M.sum,
  tonumber = tonumber, upper = string.upper, words = M.words,
}

---Returns the function with this name in operations; for an unknown name nil and the known names.
---@param name string
---@return function?
---@return string? names
function M.named(name)
  if by_name[name] then return by_name[name] end
  return nil, table.concat(util.sorted_keys(by_name), ", ")
end

---Returns the name of the native twin of `fn`; nil without a twin.
---@param fn any
---@return string?
function M.of(fn) return by_value[fn] end

---Returns whether `fn` is a native function that combines two values into one.
---@param fn any
---@return boolean
function M.combines(fn) return fn == M.sum or fn == M.min or fn == M.max end

return M
