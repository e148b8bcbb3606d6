--- Numbers as text. Parsing the text gives the same number, so different numbers have different texts.
local ffi = require("ffi")

local M = {}

local single = ffi.new("float[1]")

---Returns whether `text` parses to x; as float32 with `is_single`.
---@param text string
---@param x number
---@param is_single? boolean
---@return boolean
function M.is_text_of(text, x, is_single)
  local back = tonumber(text)
  if is_single then
    single[0] = back
    back = single[0]
  end
  return back == x
end

---The shortest text of a number. Whole numbers below 1e15 have no exponent.
---@param x number
---@param is_single? boolean x is a float32: it needs fewer digits to be unique
---@return string such as "0.30000000000000004", "inf", "nan"
function M.text(x, is_single)
  if x ~= x then return "nan" end
  if x - x ~= 0 then return x > 0 and "inf" or "-inf" end
  if x == math.floor(x) and math.abs(x) < 1e15 then return ("%d"):format(x) end
  local sure, most, least_normal = 15, 17, 2 ^ -1022
  if is_single then sure, most, least_normal = 6, 9, 2 ^ -126 end
  -- Normal numbers need no search below `sure` digits: %g drops the zeros of a shorter text.
  for digits = math.abs(x) < least_normal and 1 or sure, most - 1 do
    local text = ("%." .. digits .. "g"):format(x)
    if M.is_text_of(text, x, is_single) then return text end
  end
  return ("%." .. most .. "g"):format(x)
end

return M
