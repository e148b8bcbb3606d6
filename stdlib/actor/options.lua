--- A script's own flags, from actor.args: `local opt = actor.options { epochs = 5, data = "", verbose = false }`.
local check = require("actor.check")
local spelling = require("actor.c.names")
local util = require("actor.util")

-- The words and flags, as they are written on the command line: "[PATH]", "--epochs 5".
local function known(defaults)
  local names = {}
  for name, value in util.pairs(defaults) do
    local flag = "--" .. tostring(name):gsub("_", "-")
    names[#names + 1] = type(name) == "number" and value or type(value) == "boolean" and flag
      or flag .. " " .. (value == "" and "TEXT" or tostring(value))
  end
  return names
end

local function usage(defaults)
  return "arguments of this job: [" .. table.concat(known(defaults), "] [") .. "]"
end

-- Does `--help`: every node runs the script, so every node leaves it here, and the run succeeds.
local function help(defaults)
  local text = "arguments of this job, with their defaults:\n  " .. table.concat(known(defaults), "\n  ")
  if not package.preload["actor.c.node"] then check.fail("%s", text) end
  print(text)
  require("actor.c.node").leave()
end

local function value_of(name, text, default, defaults)
  if type(default) ~= "number" then return text end
  local number = tonumber(text)
  if not number or number ~= number then
    check.fail("--%s wants a number, got '%s'; %s", name, text, usage(defaults))
  end
  return number
end

-- Returns the flag that a word names, as `defaults` spells it, and what stands behind its "=".
local function flag_of(word, defaults)
  local given, text = word:match("^%-%-([%w_-]+)=(.*)$")
  given = given or word:match("^%-%-([%w_-]+)$")
  if not given then return nil end
  local name = given:gsub("-", "_")
  return defaults[given] ~= nil and given or name, text
end

---Reads the script's own flags: `--name value`, `--name=value` and, where the default is a boolean, `--name`; `-` is
---taken for `_`. The default of a flag gives its type; an unknown flag or a value of another type is an error that
---lists the flags. `--help` prints them and ends the run. Words that are not flags have to be named: { "PATH", "TOP",
---epochs = 5 } takes two of them as opt[1] and opt[2], which are nil where they are left out.
---@param defaults table<string|integer, string|number|boolean>
---@param args? string[] default actor.args
---@return table<string|integer, any>
return function(defaults, args)
  check.arg(defaults, "table", "defaults", "actor.options")
  args = args or require("actor").args
  local out, words = {}, 0
  for name, value in pairs(defaults) do
    if type(name) == "string" then out[name] = value end
  end
  local i = 1
  while i <= #args do
    local name, text = flag_of(args[i], defaults)
    local default = name and defaults[name]
    if default == nil and (name == "help" or args[i] == "-h") then help(defaults) end
    if not name and words < #defaults and not args[i]:find("^%-.") then
      words = words + 1
      out[words] = args[i]
    elseif default == nil then
      check.fail("unknown argument '%s'%s; %s (those of actorhost itself go before the script)", args[i],
        name and spelling.suggestion(name, defaults, "--") or "", usage(defaults))
    elseif type(default) == "boolean" and not text then
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
