--- A script's own flags, from actor.args: `local opt = actor.options { epochs = 5, data = "", verbose = false }`. A
--- table limits the values of a flag: `seeds = { 3, least = 1, whole = true }, push = { "delta", "gradient" }`.
local check = require("actor.check")
local parser = require("actor.flags")
local spelling = require("actor.c.names")
local util = require("actor.util")

---@class actor.options.Flag default and limits of a flag; other values raise an error that names the flag
---@field [integer] string|number|boolean the default; further texts after it make these the only valid values
---@field about? string the description in `--help`
---@field least? number inclusive lower limit of a number
---@field above? number exclusive lower limit of a number
---@field whole? boolean only whole numbers are valid
---@field each? fun(word: string) the value is an array of the words between commas, at least one, without duplicates; called
---  with each word; raises for an invalid word

local kinds = { about = "string?", least = "number?", above = "number?", whole = "boolean?", each = "function?" }

-- A flag as a table whose first element is the default.
local function declared(given)
  if type(given) ~= "table" then return { given } end
  local named = {}
  for key, value in pairs(given) do
    if type(key) ~= "number" then named[key] = value end
  end
  check.options(named, kinds, "actor.options")
  return given
end

-- The flags in `defaults`, and the words and flags as on the command line: "[PATH]", "--epochs 5".
local function described(defaults)
  local flags, written = {}, {}
  for name, given in util.pairs(defaults) do
    if type(name) == "number" then
      written[#written + 1] = given
    else
      local about = declared(given)
      local default = about[1]
      local value = type(default) ~= "boolean" and (default == "" and "TEXT" or table.concat(about, "|")) or nil
      local flag = { key = name, name = name:gsub("_", "-"), value = value, default = default, about = about,
        kind = about.whole and "integer" or type(default) == "number" and "number" or "text" }
      flags[#flags + 1] = flag
      written[#written + 1] = "--" .. flag.name .. (value and " " .. value or "")
    end
  end
  if defaults.help == nil then flags[#flags + 1] = { name = "help", short = "h" } end
  return flags, written
end

-- Checks a value of the right type and returns the job's value; or nil and the error text, which follows the flag's
-- name.
local function taken(about, value)
  if #about > 1 then
    for _, choice in ipairs(about) do
      if value == choice then return value end
    end
    return nil, (" is one of %s; got '%s'%s"):format(table.concat(about, ", "), value, spelling.suggestion(value, about))
  end
  if about.least and value < about.least then return nil, (" has to be at least %g; got %g"):format(about.least, value) end
  if about.above and value <= about.above then return nil, (" has to be above %g; got %g"):format(about.above, value) end
  if not about.each then return value end
  local words, known = {}, {}
  for word in value:gmatch("[^,]+") do
    local fine, message = pcall(about.each, word)
    if not fine then return nil, ": " .. tostring(message):gsub("^[^:]*:%d+: ", "") end
    if known[word] then return nil, (" names %s twice"):format(word) end
    words[#words + 1], known[word] = word, true
  end
  if #words == 0 then return nil, (" wants words with commas between them; got '%s'"):format(value) end
  return words
end

-- The description of a flag in `--help`: its text and its limits.
local function about_flag(about)
  local parts = { about.about }
  if about.least then parts[#parts + 1] = ("at least %g"):format(about.least) end
  if about.above then parts[#parts + 1] = ("above %g"):format(about.above) end
  if about.whole then parts[#parts + 1] = "a whole number" end
  if about.each then parts[#parts + 1] = "words with commas between them" end
  return table.concat(parts, "; ")
end

-- Handles `--help`: every node runs the script, so every node leaves the run here, and the run succeeds.
local function help(defaults, flags)
  local rows = {}
  for _, flag in ipairs(flags) do
    local default = flag.default
    rows[#rows + 1] = { name = flag.name, short = flag.short, help = flag.about and about_flag(flag.about) or "this page",
      value = flag.value and (flag.kind ~= "text" and "N" or #flag.about > 1 and flag.value or "TEXT"),
      default = default ~= "" and default or nil }
  end
  local words = #defaults > 0 and ", [" .. table.concat(defaults, "] [") .. "] and flags" or ""
  local text = ("arguments of this job%s; defaults are in parentheses:\n%s"):format(words,
    (parser.help(rows):gsub(" +\n", "\n")))
  if not package.preload["actor.c.node"] then check.fail("%s", text) end
  print(text)
  require("actor.c.node").leave()
end

---Reads the script's own flags: `--name value`, `--name=value` and, for a boolean default, `--name`; `-` equals `_`.
---The default of a flag defines its type; a table adds limits to the default. An unknown flag or a value of another
---type raises an error that lists the flags. `--help` describes them and ends the run. Words without dashes need names:
---`{ "PATH", "TOP", epochs = 5 }` takes two words as opt[1] and opt[2], nil if absent.
---```lua
---local opt = actor.options({ epochs = { 5, least = 1, whole = true }, kind = { "sgd", "adam" } },
---  { "--epochs", "3", "--kind", "adam" }) -- as after job.lua on the command line
---print(opt.epochs, opt.kind)  --> 3 adam
---```
---@param defaults table<string|integer, string|number|boolean|actor.options.Flag>
---@param args? string[] default actor.args
---@return table<string|integer, any>
return function(defaults, args)
  check.arg(defaults, "table", "defaults", "actor.options")
  local flags, written = described(defaults)
  local values, rest = parser.parse(flags, args or require("actor").args)
  local wrong = not values and rest
  if values and values.help and defaults.help == nil then help(defaults, flags) end
  if values and #rest > #defaults then wrong = ("unknown argument '%s'"):format(rest[#defaults + 1]) end
  if wrong then
    check.fail("%s; arguments of this job: [%s] (those of actorhost itself go before the script)", wrong,
      table.concat(written, "] ["))
  end
  local out = util.joined(rest)
  for _, flag in ipairs(flags) do
    if flag.key then
      out[flag.key], wrong = taken(flag.about, values[flag.name])
      if wrong then check.fail("--%s%s", flag.name, wrong) end
    end
  end
  return out
end
