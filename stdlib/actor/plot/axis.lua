--- Axes: positions and labels of ticks, and the mapping from values to places. Ticks cover the data. A linear axis
--- steps by 1, 2 or 5 times a power of ten; a logarithmic axis by powers of its base, with 2 and 5 between sparse
--- powers.
local abs, floor, ceil, log10 = math.abs, math.floor, math.ceil, math.log10
local max, min = math.max, math.min

local M = {}

local superscripts = { ["-"] = "⁻", ["0"] = "⁰", ["1"] = "¹", ["2"] = "²", ["3"] = "³", ["4"] = "⁴", ["5"] = "⁵",
  ["6"] = "⁶", ["7"] = "⁷", ["8"] = "⁸", ["9"] = "⁹" }

function M.power_text(base, exponent)
  return base .. (("%d"):format(exponent):gsub(".", superscripts))
end

-- A number with `decimals` decimals, a typographic minus sign, and no sign before zero.
local function number_text(value, decimals)
  local text = ("%%.%df"):format(decimals):format(value)
  if text:find("^%-[0.]*$") then text = text:sub(2) end
  return (text:gsub("^%-", "−"))
end

---@class actor.plot.Axis
---@field low number the ends, in the unit of `place` (log10 of the value on a logarithmic axis)
---@field high number
---@field ticks {at: number, label: string}[] `at` is 0 .. 1 along the axis
---@field minor number[] 0 .. 1
---@field place fun(value: number): number? 0 .. 1 between the ends; nil for a value outside the axis's domain
---@field factor string "" or the multiplier of the labels, "×10³"

-- --- linear ---

-- The step of about `count` intervals: digit (1, 2, 5) and exponent.
local function nice_step(span, count)
  local rough = span / count
  local exponent = floor(log10(rough))
  local fraction = rough / 10 ^ exponent - 1e-9 -- a step that differs from a round one in its last bit counts as round
  if fraction <= 1 then return 1, exponent end
  if fraction <= 2 then return 2, exponent end
  if fraction <= 5 then return 5, exponent end
  return 1, exponent + 1
end

-- digit * 10^exponent * i; a division is exact where a product with 10^-k is not.
local function multiple(i, digit, exponent)
  if exponent < 0 and exponent > -300 then return i * digit / 10 ^ -exponent end
  return i * digit * 10 ^ exponent
end

-- The divisor of all values, so that labels stay short and nothing overflows.
local function scale_of(low, high)
  local size = max(abs(low), abs(high))
  if size == 0 or (size < 1e5 and size >= 1e-3) then return 0 end
  return max(-300, min(306, floor(log10(size) / 3) * 3))
end

-- The ends of an empty range, widened around its value.
local function widen(low, high)
  local size = max(abs(low), abs(high))
  if high - low > size * 1e-12 then return low, high end
  local half = size == 0 and 1 or size * 0.1
  return low - half, high + half
end

---@param low number
---@param high number finite
---@param count integer intervals, about
---@param fixed {low: boolean, high: boolean} ends that stay fixed
---@return actor.plot.Axis
function M.linear(low, high, count, fixed)
  local exponent10 = scale_of(low, high)
  local factor = 10 ^ exponent10
  low, high = widen(low / factor, high / factor)
  local digit, exponent = nice_step(high - low, count)
  local step = multiple(1, digit, exponent)
  local first, last = low / step, high / step
  -- A value that rounding moved off its tick still belongs to it.
  first = fixed.low and ceil(first - 1e-9) or floor(first + 1e-9)
  last = fixed.high and floor(last + 1e-9) or ceil(last - 1e-9)
  if not fixed.low then low = min(low, multiple(first, digit, exponent)) end
  if not fixed.high then high = max(high, multiple(last, digit, exponent)) end
  local span, ticks = high - low, {}
  for i = first, last do
    local value = multiple(i, digit, exponent)
    ticks[#ticks + 1] = { at = (value - low) / span, label = number_text(value, max(0, -exponent)), value = value * factor }
  end
  return {
    low = low, high = high, ticks = ticks, minor = {},
    factor = exponent10 ~= 0 and "×" .. M.power_text(10, exponent10) or "",
    place = function(value) return (value / factor - low) / span end,
  }
end

-- --- logarithmic ---

local function power_label(base, exponent, plain)
  if not plain then return M.power_text(base, exponent) end
  if base == 2 then return ("%d"):format(2 ^ exponent) end
  return number_text(10 ^ exponent, max(0, -exponent))
end

-- Ticks at powers of the base, every `skip`-th; low and high are exponents.
local function powers(base, low, high, count, fixed)
  local first = fixed.low and ceil(low - 1e-9) or floor(low + 1e-9)
  local last = fixed.high and floor(high + 1e-9) or ceil(high - 1e-9)
  local skip = max(1, ceil((last - first) / count))
  if not fixed.low then first = floor(first / skip) * skip end
  if not fixed.high then last = ceil(last / skip) * skip end
  local plain = base == 2 and first >= 0 and last <= 16 or base == 10 and first >= -3 and last <= 4
  local ticks = {}
  for e = ceil(first / skip) * skip, last, skip do ticks[#ticks + 1] = { e = e, label = power_label(base, e, plain) } end
  return ticks, first, last, skip
end

-- Ticks at 1, 2 and 5 times powers of ten, for a range of few decades.
local function subdivided(low, high, fixed)
  local ticks = {}
  for decade = floor(low) - 1, ceil(high) do
    for _, digit in ipairs({ 1, 2, 5 }) do
      local e = decade + log10(digit)
      local plain = decade >= -3 and decade <= 4
      local label = plain and number_text(multiple(digit, 1, decade), max(0, -decade))
        or (digit == 1 and "" or digit .. "·") .. M.power_text(10, decade)
      ticks[#ticks + 1] = { e = e, label = label }
    end
  end
  local first, last = 1, #ticks
  while ticks[first + 1].e <= low + 1e-9 do first = first + 1 end
  while ticks[last - 1].e >= high - 1e-9 do last = last - 1 end
  if fixed.low and ticks[first].e < low - 1e-9 then first = first + 1 end
  if fixed.high and ticks[last].e > high + 1e-9 then last = last - 1 end
  local out = {}
  for i = first, last do out[#out + 1] = ticks[i] end
  return out
end

local function minor_ticks(low, high, exact)
  local out = {}
  if high - low > 8 or not exact then return out end
  for decade = floor(low), floor(high) do
    for digit = 2, 9 do
      local e = decade + log10(digit)
      if e > low and e < high then out[#out + 1] = (e - low) / (high - low) end
    end
  end
  return out
end

---@param low number
---@param high number above zero, finite
---@param count integer intervals, about
---@param base 2|10
---@param fixed {low: boolean, high: boolean}
---@return actor.plot.Axis
function M.logarithmic(low, high, count, base, fixed)
  local per_power = log10(base)
  low, high = log10(low) / per_power, log10(high) / per_power
  if high - low < 1e-9 then
    low, high = low - (base == 2 and 1 or 0.3), high + (base == 2 and 1 or 0.3)
  end
  local ticks, first, last, skip
  if base == 10 and high - low < 2.5 then
    ticks, skip = subdivided(low, high, fixed), 1
    if #ticks > 0 then first, last = ticks[1].e, ticks[#ticks].e end
  else
    ticks, first, last, skip = powers(base, low, high, count, fixed)
  end
  if not fixed.low and first then low = min(low, first) end
  if not fixed.high and last then high = max(high, last) end
  local span = high - low
  local out = {}
  for i, tick in ipairs(ticks) do
    out[i] = { at = (tick.e - low) / span, label = tick.label, value = base ^ tick.e }
  end
  return {
    low = low, high = high, ticks = out, minor = minor_ticks(low, high, base == 10 and skip == 1), factor = "",
    place = function(value)
      if not (value > 0) then return nil end
      return (log10(value) / per_power - low) / span
    end,
  }
end

-- --- from options ---

---Makes the axis for the values from `low` to `high` (nil without values).
---@param o {log?: boolean|2|10, min?: number, max?: number, zero?: boolean}
---@param low number?
---@param high number?
---@param count integer intervals, about
---@return actor.plot.Axis
function M.of(o, low, high, count)
  local base = o.log and (o.log == 2 and 2 or 10) or nil
  local fixed = { low = o.min ~= nil, high = o.max ~= nil }
  if not low then
    if base then low, high = 1, base ^ 3 else low, high = 0, 1 end
    if o.min and o.min >= high then high = base and o.min * base or o.min + 1 end
    if o.max and o.max <= low then low = base and o.max / base or o.max - 1 end
  end
  low, high = o.min or low, o.max or high
  if high < low then -- all data is outside the given end
    if fixed.low then
      high = base and low * base or low + max(1, abs(low))
    else
      low = base and high / base or high - max(1, abs(high))
    end
  end
  if base then return M.logarithmic(low, high, count, base, fixed) end
  if o.zero and low > 0 and not fixed.low then low = 0 end
  if o.zero and high < 0 and not fixed.high then high = 0 end
  return M.linear(low, high, count, fixed)
end

return M
