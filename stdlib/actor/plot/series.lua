--- Validates and normalises the user's series: x, y, low and high of equal length, and a count of values that cannot be
--- shown.
local check = require("actor.check")

local M = {}

local axis_options = { label = "string?", unit = "string?", log = "boolean|number?", min = "number?", max = "number?",
  zero = "boolean?" }

---Checks the options of an axis and returns them; an empty table if there are none.
function M.axis(o, name, fn)
  if o == nil then return {} end
  check.arg(o, "table", name, fn)
  check.options(o, axis_options, fn)
  if type(o.log) == "number" and o.log ~= 2 and o.log ~= 10 then
    check.wrong(name .. ".log", fn, "true, 2 or 10", o.log)
  end
  for _, key in ipairs({ "min", "max" }) do
    local value = o[key]
    if value and (value - value ~= 0 or (o.log and value <= 0)) then
      check.wrong(name .. "." .. key, fn, o.log and "a finite number above 0" or "a finite number", value)
    end
  end
  if o.min and o.max and o.min >= o.max then check.fail("bad argument '%s' to %s: min has to be below max", name, fn) end
  return o
end

function M.numbers(array, name, fn, count)
  check.arg(array, "table", name, fn)
  if count and #array ~= count then
    check.fail("bad argument '%s' to %s: expected %d numbers as y has, got %d", name, fn, count, #array)
  end
  for i = 1, #array do
    if type(array[i]) ~= "number" then check.wrong(("%s[%d]"):format(name, i), fn, "a number", array[i]) end
  end
  return array
end

function M.finite(value) return value - value == 0 end

local function usable(value, log)
  return value ~= nil and M.finite(value) and not (log and value <= 0)
end

---@class actor.plot.Points a normalised series
---@field name? string
---@field style? string
---@field points ({x: number, y: number, low?: number, high?: number}|false)[] false for a gap
---@field infinite integer points left out, not finite
---@field negative integer points left out, at or below zero on a logarithmic axis

---@param s table
---@param name string of the series in errors
---@param x_log any
---@param y_log any
---@return actor.plot.Points
function M.points(s, name, fn, x_log, y_log)
  local y = M.numbers(s.y, name .. ".y", fn)
  local x = s.x and M.numbers(s.x, name .. ".x", fn, #y)
  local low = s.low and M.numbers(s.low, name .. ".low", fn, #y)
  local high = s.high and M.numbers(s.high, name .. ".high", fn, #y)
  if (low == nil) ~= (high == nil) then
    check.fail("bad argument '%s' to %s: low and high go together", name, fn)
  end
  local out = { name = s.name, style = s.style, points = {}, infinite = 0, negative = 0 }
  for i = 1, #y do
    local at = x and x[i] or i
    if usable(at, x_log) and usable(y[i], y_log) then
      local both = low and usable(low[i], y_log) and usable(high[i], y_log)
      out.points[i] = { x = at, y = y[i], low = both and low[i] or nil, high = both and high[i] or nil }
    else
      out.points[i] = false
      if M.finite(at) and M.finite(y[i]) then out.negative = out.negative + 1 else out.infinite = out.infinite + 1 end
    end
  end
  return out
end

-- "3 points" or "1 point".
local function count_text(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end

---Makes notes about omitted points.
---@param all actor.plot.Points[]
---@param what? string "point"
---@return string[]
function M.notes(all, what)
  local out = {}
  local function note(key, words)
    local total, parts = 0, {}
    for i, s in ipairs(all) do
      if s[key] > 0 then
        total = total + s[key]
        parts[#parts + 1] = ("%s: %d"):format(s.name or "series " .. i, s[key])
      end
    end
    if total == 0 then return end
    out[#out + 1] = ("Not shown: %s %s (%s)."):format(count_text(total, what or "point"), words, table.concat(parts, ", "))
  end
  note("infinite", "with a value that is not finite")
  note("negative", "at or below zero, which a logarithmic axis does not have")
  return out
end

---The range of `keys` over all points; nil without points.
---@param all actor.plot.Points[]
---@param keys string[]
---@return number? low
---@return number? high
function M.range(all, keys)
  local low, high
  for _, s in ipairs(all) do
    for _, p in ipairs(s.points) do
      for _, key in ipairs(keys) do
        local value = p and p[key]
        if value then
          if not low or value < low then low = value end
          if not high or value > high then high = value end
        end
      end
    end
  end
  return low, high
end

return M
