--- The parameters of rules, as the rules' files (rules/) describe them: {name, kind, low =, high =, default =, optional
--- =}. One description serves the constructor, which checks its arguments, and the text form, which reads them.
local check = require("actor.check")

---@class actor.policy.Parameter
---@field [1] string name
---@field [2] "steps"|"workers"|"fraction"|"seconds"|"ratio"|"factor"|"pushes"|"rule" kind
---@field low? number the smallest value, instead of the kind's
---@field high? number the greatest value, instead of the kind's
---@field default? number the parameter is optional
---@field optional? boolean the parameter is optional without a default

local M = {}

-- "rule" is any rule; in a text it is the whole rest of the text.
local kinds = {
  steps = { whole = true, low = 0, high = 2 ^ 31 - 1 },
  workers = { whole = true, low = 0, high = 2 ^ 32 - 1 },
  pushes = { whole = true, low = 1, high = 2 ^ 24 },
  fraction = { low = 0, high = 1 },
  seconds = { low = 0 },
  ratio = { low = 1 },
  factor = { low = 0 },
}

---@param parameter actor.policy.Parameter
---@return boolean
function M.needed(parameter) return parameter.default == nil and not parameter.optional end

---Checks `value`, an argument of the constructor `fn`, and returns it or its default. Raises an error for a wrong
---value.
---@param parameter actor.policy.Parameter
---@param value any
---@param fn string
---@param family actor.policy.Family of a parameter of kind "rule"
---@return any
function M.checked(parameter, value, fn, family)
  local name, kind = parameter[1], kinds[parameter[2]]
  if not kind then return family.of(value, fn) end
  if value == nil and not M.needed(parameter) then return parameter.default end
  local verify = kind.whole and check.integer or check.number
  verify(value, name, fn, parameter.low or kind.low, parameter.high or kind.high)
  return value
end

---Reads a value from a text. Returns nil and the expected form for a wrong text.
---@param parameter actor.policy.Parameter not of kind "rule"
---@param text string
---@return number? value
---@return string? expected
function M.read(parameter, text)
  local kind, value = kinds[parameter[2]], tonumber(text)
  local low, high = parameter.low or kind.low, parameter.high or kind.high
  if value and value >= low and value <= (high or math.huge) and not (kind.whole and value % 1 ~= 0) then return value end
  -- The message omits the default limit of whole numbers, which is only the range of clocks.
  local limit = not kind.whole and high or parameter.high
  local range = limit and ("from %g to %g"):format(low, limit) or ("of at least %g"):format(low)
  return nil, (kind.whole and "a whole number " or "a number ") .. range
end

---Returns the value as a rule's name shows it.
---@param parameter actor.policy.Parameter
---@param value any
---@return string
function M.shown(parameter, value)
  local kind = kinds[parameter[2]]
  if not kind then return value.name end
  return (kind.whole and "%d" or "%g"):format(value)
end

return M
