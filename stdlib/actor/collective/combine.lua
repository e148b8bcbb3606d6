--- Combines values for the same partition of a table: by a built-in combiner for numbers and tensors, or by the user's
--- function. A fold combines the values in the given order, so the same values in the same order give the same bits. A
--- fold changes no given value (unless `received` allows it), so the values are intact after a failed fold.
local check = require("actor.check")
local tensor = require("actor.tensor")

local is_tensor = tensor.is_tensor

local M = {}

---@class actor.Combiner
---@field name string "sum", or "function" for the user's function
---@field fn? fun(a: any, b: any): any the user's function
---@field weighted boolean a mean: each value has a weight, the number of values in it

-- The combiners of numbers, and the names of the tensor methods that combine.
local numbers = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  min = math.min,
  max = math.max,
}
local methods = { sum = "add", prod = "mul", min = "minimum", max = "maximum" }
local names = { "sum", "mean", "min", "max", "prod" }

---Makes a combiner. Raises for another name.
---@param combiner any "sum" (also for nil), "mean", "min", "max", "prod" or a function
---@param fn string the name of the public function, for errors
---@return actor.Combiner
function M.new(combiner, fn)
  if combiner == nil then combiner = "sum" end
  if type(combiner) == "function" then return { name = "function", fn = combiner, weighted = false } end
  if type(combiner) ~= "string" then check.wrong("combiner", fn, "string or function", combiner) end
  check.one_of(combiner, names, "combiner", fn)
  return { name = combiner, weighted = combiner == "mean" }
end

---Returns a deep copy of the value.
---@generic T
---@param value T
---@return T
function M.copy(value)
  if is_tensor(value) then return value:clone() end
  if type(value) ~= "table" then return value end
  local out = {}
  for key, item in pairs(value) do out[key] = M.copy(item) end
  return out
end

---Returns the layout of a value as text: "float32[2,3]", "number".
---@param value any
---@return string
function M.layout(value)
  if not is_tensor(value) then return type(value) end
  return ("%s[%s]"):format(value.dtype, table.concat(value.shape, ","))
end

-- Returns true if the combiner `name` can combine the values, or nil and the error's text.
local function fits(name, a, b)
  if type(a) == "number" and type(b) == "number" then return true end
  local left, right = M.layout(a), M.layout(b)
  if is_tensor(a) and left == right then return true end
  if left ~= right then return nil, ("%s and %s do not fit together"):format(left, right) end
  return nil, ("the combiner '%s' is for tensors and numbers, not for a %s"):format(name, left)
end

-- Combines `total` with `value`; in place if `own`: only the fold has the tensor `total`.
local function step(name, total, value, own)
  if type(total) == "number" then return numbers[name](total, value) end
  return total[own and methods[name] .. "_" or methods[name]](total, value)
end

---@class actor.Fold combines values by the ids of their partitions
---@field values table<integer, any> the combined values so far
---@field weights table<integer, number> of a mean; 1 where absent
---@field wrong string|nil the first error
local Fold = {}
Fold.__index = Fold

---Begins a fold.
---@param combiner actor.Combiner
---@return actor.Fold
function M.fold(combiner)
  -- folded[id]: several values are combined; free[id]: only the fold has the value, so the fold may change it.
  return setmetatable({ combiner = combiner, values = {}, weights = {}, folded = {}, free = {} }, Fold)
end

-- Combines the value of an id with another value. Returns true, or nil and the error's text.
function Fold:combine(id, value, weight, received)
  local combiner, total = self.combiner, self.values[id]
  local own = self.free[id]
  if combiner.fn then
    -- The user's function may change its arguments.
    local worked, result = pcall(combiner.fn, own and total or M.copy(total), received and value or M.copy(value))
    if not worked then return nil, "the combiner failed: " .. tostring(result) end
    if result == nil then return nil, "the combiner gave nil" end
    self.values[id] = result
    return true
  end
  local fit, why = fits(combiner.name, total, value)
  if not fit then return nil, why end
  if combiner.weighted then
    -- A mean is stored as a sum until the end.
    local before = self.weights[id] or 1
    if not self.folded[id] and before ~= 1 then total, own = total * before, true end
    if weight ~= 1 then value = value * weight end
    self.weights[id] = before + weight
  end
  self.values[id] = step(combiner.weighted and "sum" or combiner.name, total, value, own)
  return true
end

---Adds a value. After an error the fold ignores further values.
---@param id integer
---@param value any
---@param weight? number default 1
---@param received? boolean only the fold has the value, so the fold may change it
function Fold:add(id, value, weight, received)
  if self.wrong then return end
  if self.values[id] == nil then
    self.values[id] = value
    self.free[id] = received
    if weight and weight ~= 1 then self.weights[id] = weight end
    return
  end
  local worked, why = self:combine(id, value, weight or 1, received)
  if not worked then
    self.wrong = ("partition %d: %s"):format(id, why)
  else
    self.folded[id], self.free[id] = true, true
  end
end

---Ends the fold and returns the combined values.
---@return table<integer, any>|nil values nil after an error
---@return table<integer, number>|string weights or the error
function Fold:finish()
  if self.wrong then return nil, self.wrong end
  if self.combiner.weighted then
    for id in pairs(self.folded) do
      local total, weight = self.values[id], self.weights[id]
      self.values[id] = is_tensor(total) and total:div_(weight) or total / weight
    end
  end
  return self.values, self.weights
end

return M
