--- A script's own flags, from actor.args: `local opt = actor.options { epochs = 5, data = "", verbose = false }`.
local check = require("actor.check")
local parser = require("actor.flags")
local util = require("actor.util")

-- The flags that `defaults` gives, and the words and flags as they are written on the command line: "[PATH]", "--epochs 5".
local function described(defaults)
  local flags, written = {}, {}
  for name, default in util.pairs(defaults) do
    if type(name) == "number" then
      written[#written + 1] = default
    else
      local value = type(default) ~= "boolean" and (default == "" and "TEXT" or tostring(default)) or nil
      local flag = { name = name:gsub("_", "-"), value = value, default = default,
        kind = type(default) == "number" and "number" or "text" }
      flags[#flags + 1] = flag
      written[#written + 1] = "--" .. flag.name .. (value and " " .. value or "")
    end
  end
  if defaults.help == nil then flags[#flags + 1] = { name = "help", short = "h" } end
  return flags, written
end

-- Does `--help`: every node runs the script, so every node leaves it here, and the run succeeds.
local function help(written)
  local text = "arguments of this job, with their defaults:\n  " .. table.concat(written, "\n  ")
  if not package.preload["actor.c.node"] then check.fail("%s", text) end
  print(text)
  require("actor.c.node").leave()
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
  local flags, written = described(defaults)
  local values, rest = parser.parse(flags, args or require("actor").args)
  local wrong = not values and rest
  if values and values.help and defaults.help == nil then help(written) end
  if values and #rest > #defaults then wrong = ("unknown argument '%s'"):format(rest[#defaults + 1]) end
  if wrong then
    check.fail("%s; arguments of this job: [%s] (those of actorhost itself go before the script)", wrong,
      table.concat(written, "] ["))
  end
  local out = {}
  for i, word in ipairs(rest) do out[i] = word end
  for name in pairs(defaults) do
    if type(name) == "string" then out[name] = values[(name:gsub("_", "-"))] end
  end
  return out
end
