--- Functions that have a native twin: given by name or value, an operation runs them in C++ on the rows' bytes, without a
--- Lua value for each row. Called from Lua they do the same.
local M = {}

---Splits text at white space (as C's isspace), as `text:gmatch("%S+")` does.
---@param text string
---@return fun(): string?
function M.words(text)
  return text:gmatch("%S+")
end

---A pair of the row and 1, for counting.
---@param row any
---@return any row
---@return integer one
function M.one(row) return row, 1 end

---The sum of both: for `reduce_by_key(mr.sum)`.
function M.sum(a, b) return a + b end

---The smaller of both; NaN is greater than all other numbers, as in a sort.
function M.min(a, b) return (b < a or a ~= a) and b or a end

---The greater of both, where NaN is the greatest.
function M.max(a, b) return (b > a or b ~= b) and b or a end

---A count and one more: for `aggregate_by_key(0, mr.count, mr.sum)`, `fold(0, mr.count)`.
---@param n integer
---@return integer
function M.count(n) return n + 1 end

---The row itself, for sort_by.
---@param ... any
---@return any ...
function M.identity(...) return ... end

-- By value: what an operation that is given it does natively.
local by_value = {
  [M.words] = "words", [M.sum] = "sum", [M.min] = "min", [M.max] = "max",
  [M.one] = "one", [string.lower] = "lower", [string.upper] = "upper",
  [tonumber] = "tonumber",
}

-- By native operation on rows: the operation that it is one for.
M.operations = {
  words = "flatmap", one = "map", lower = "map", upper = "map", tonumber = "map", sample = "sample", keys = "keys",
  values = "values",
}

local by_name = {
  count = M.count, identity = M.identity, lower = string.lower, max = M.max, min = M.min, one = M.one, sum = M.sum,
  tonumber = tonumber, upper = string.upper, words = M.words,
}

---The function of that name, which operations take instead of it; nothing and the names that there are.
---@param name string
---@return function?
---@return string? names
function M.named(name)
  if by_name[name] then return by_name[name] end
  local names = {}
  for each in pairs(by_name) do names[#names + 1] = each end
  table.sort(names)
  return nil, table.concat(names, ", ")
end

---The name of the native twin of `fn`, if it has one.
---@param fn any
---@return string?
function M.of(fn)
  return by_value[fn]
end

---Whether `fn` is one of those that combine two values into one.
---@param fn any
---@return boolean
function M.combines(fn)
  return fn == M.sum or fn == M.min or fn == M.max
end

return M
