--- Argument checks of the standard library. Each raises an error such as "bad argument 'steps' to param.run: expected
--- number, got string". The error is at the innermost frame outside the standard library, so at the user's line
--- regardless of the depth of the check.
local spelling = require("actor.c.names")
local numbers = require("actor.numbers")

local M = {}

local type, floor = type, math.floor

-- The level, relative to the caller of this function, of the innermost Lua frame outside stdlib/.
local function user_level()
  local level = 3
  while true do
    local frame = debug.getinfo(level, "Sl")
    if not frame then return 3 end
    if frame.currentline > 0 and frame.source:sub(1, 8) ~= "@stdlib/" then return level - 1 end
    level = level + 1
  end
end

---Raises an error with `message`, formatted with the other arguments, at the user's line.
---@param message string
---@param ... any
function M.fail(message, ...)
  if select("#", ...) > 0 then message = message:format(...) end
  error(message, user_level())
end

local fail = M.fail

---Raises the error of a wrong argument.
---@param name string the argument as the user knows it
---@param fn string the function as the user calls it, "param.run"
---@param expected string
---@param value any the given value
---@param hint? string appended to the message
function M.wrong(name, fn, expected, value, hint)
  local given = type(value)
  if given == "number" and (expected:find("integer", 1, true) or expected:find("number", 1, true)) then
    given = numbers.text(value)
  elseif given == "string" and expected:find("one of", 1, true) then
    given = ("'%s'"):format(value)
  end
  fail("bad argument '%s' to %s: expected %s, got %s%s", name, fn, expected, given, hint or "")
end

local wrong = M.wrong

---A metatable that raises for reads of unknown string keys: "there is no dataset:mapp; did you mean dataset:map?".
---@param owner string prefix of its names: "dataset:" for methods, "ctx." for fields
---@param ... string fields that may be nil
---@return table
M.strict = spelling.strict

---Makes a class: the metatable of objects whose methods are its functions. Reads of unknown fields raise as for
---`strict`.
---@param owner string
---@param ... string
---@return table
function M.class(owner, ...)
  local made = setmetatable({}, M.strict(owner, ...))
  made.__index = made
  return made
end

---Raises unless `value` has type `kind` (as `type` spells it).
---@param value any
---@param kind string
---@param name string
---@param fn string
function M.arg(value, kind, name, fn)
  if type(value) ~= kind then wrong(name, fn, kind, value) end
end

---As `arg`, but accepts nil too.
---@param value any
---@param kind string
---@param name string
---@param fn string
function M.optional(value, kind, name, fn)
  if value ~= nil and type(value) ~= kind then wrong(name, fn, kind .. " or nil", value) end
end

local function range(low, high)
  if low and high then return (" from %s to %s"):format(numbers.text(low), numbers.text(high)) end
  if low then return (" of at least %s"):format(numbers.text(low)) end
  return high and (" of at most %s"):format(numbers.text(high)) or ""
end

---Raises unless `value` is a whole number from `low` to `high` (nil: no limit).
---@param value any
---@param name string
---@param fn string
---@param low? number
---@param high? number
function M.integer(value, name, fn, low, high)
  if type(value) == "number" and value == floor(value) and value - value == 0
    and (not low or value >= low) and (not high or value <= high) then
    return
  end
  wrong(name, fn, "an integer" .. range(low, high), value)
end

---Raises unless `value` is a number from `low` to `high` (nil: no limit). Rejects NaN.
---@param value any
---@param name string
---@param fn string
---@param low? number
---@param high? number
function M.number(value, name, fn, low, high)
  if type(value) == "number" and value == value and (not low or value >= low) and (not high or value <= high) then
    return
  end
  wrong(name, fn, "a number" .. range(low, high), value)
end

---Raises unless `value` is one of the strings in `choices`.
---@param value any
---@param choices string[]
---@param name string
---@param fn string
function M.one_of(value, choices, name, fn)
  for i = 1, #choices do
    if value == choices[i] then return end
  end
  wrong(name, fn, "one of '" .. table.concat(choices, "', '") .. "'", value,
    type(value) == "string" and spelling.suggestion(value, choices, "'", "'"))
end

---Raises unless `value` is an array of strings.
---@param value any
---@param name string
---@param fn string
function M.strings(value, name, fn)
  M.arg(value, "table", name, fn)
  for key, text in pairs(value) do
    if type(key) ~= "number" or type(text) ~= "string" then wrong(name, fn, "an array of strings", type(key) ~= "number" and key or text) end
  end
end

---Checks a table of named options: `kinds` must contain each key of `options` and the type of its value. A kind ends in
---"?" for an optional value; "|" separates several types; "any" accepts every type.
---@param options any
---@param kinds table<string, string> e.g. {steps = "number", out = "cdata?", sync = "boolean|string?"}
---@param fn string
function M.options(options, kinds, fn)
  M.arg(options, "table", "options", fn)
  for key in pairs(options) do
    if kinds[key] == nil then
      local known = {}
      for name in pairs(kinds) do known[#known + 1] = name end
      table.sort(known)
      fail("unknown option '%s' to %s (known: %s)%s", tostring(key), fn, table.concat(known, ", "),
        spelling.suggestion(tostring(key), known, "'", "'"))
    end
  end
  for name, kind in pairs(kinds) do
    local value, wanted = options[name], kind:gsub("%?$", "")
    local may_be_absent = wanted ~= kind
    local given = type(value)
    if value == nil then
      if not may_be_absent then wrong(name, fn, (wanted:gsub("|", " or ")), value) end
    elseif wanted ~= "any" and not ("|" .. wanted .. "|"):find("|" .. given .. "|", 1, true) then
      wrong(name, fn, (wanted:gsub("|", " or ")), value)
    end
  end
end

---As `options`, but nil counts as no options.
---@param options any
---@param kinds table<string, string>
---@param fn string
---@return table options
function M.optional_options(options, kinds, fn)
  if options == nil then return {} end
  M.options(options, kinds, fn)
  return options
end

---Checks options of which the only one is `timeout`, in seconds, and returns it.
---@param options any
---@param fn string
---@return number? timeout
function M.timeout(options, fn)
  local timeout = M.optional_options(options, { timeout = "number?" }, fn).timeout
  if timeout ~= nil then M.number(timeout, "timeout", fn, 0) end
  return timeout
end

return M
