--- A script's own flags, from actor.args: `local opt = actor.options { epochs = 5, data = "", verbose = false }`.
local check = require("actor.check")
local util = require("actor.util")

local function usage(defaults)
  local lines = {}
  for name, value in util.pairs(defaults) do
    lines[#lines + 1] = type(value) == "boolean" and ("[--%s]"):format(name)
      or ("[--%s %s]"):format(name, value == "" and "TEXT" or tostring(value))
  end
  return "flags of this job: " .. table.concat(lines, " ")
end

local function value_of(name, text, default, defaults)
  if type(default) ~= "number" then return text end
  local number = tonumber(text)
  if not number or number ~= number then
    check.fail("--%s wants a number, got '%s'; %s", name, text, usage(defaults))
  end
  return number
end

---Reads `--name value`, `--name=value` and, where the default is a boolean, `--name`. The default of a flag gives its
---type; an unknown flag or a value of another type is an error that lists the flags.
---@param defaults table<string, string|number|boolean>
---@param args? string[] default actor.args
---@return table<string, any>
return function(defaults, args)
  check.arg(defaults, "table", "defaults", "actor.options")
  args = args or require("actor").args
  local out = {}
  for name, value in pairs(defaults) do out[name] = value end
  local i = 1
  while i <= #args do
    local name, text = args[i]:match("^%-%-([%w_-]+)=(.*)$")
    name = name or args[i]:match("^%-%-([%w_-]+)$")
    local default = name and defaults[name]
    if default == nil then
      check.fail("unknown argument '%s'; %s (those of actorhost itself go before the script)", args[i], usage(defaults))
    end
    if type(default) == "boolean" and not text then
      out[name] = true
    else
      if not text then
        i = i + 1
        text = args[i]
        if not text then check.fail("--%s wants a value; %s", name, usage(defaults)) end
      end
      out[name] = value_of(name, text, default, defaults)
    end
    i = i + 1
  end
  return out
end
