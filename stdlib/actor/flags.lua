--- Parses the command lines of subcommands. A list of flags defines the parser, its error messages and the help text.
--- `parse` returns an error as nil, message: the subcommand prints the message and exits with code 2.
local spelling = require("actor.c.names")

local M = {}

---@class actor.flags.Flag
---@field name string without leading dashes: "retry-after"; on the command line `--retry_after` is the same flag
---@field short? string one letter
---@field value? string name of the value in the help: "N", "FILE", "N|auto"; a flag without it is a switch. `command`
---  refuses other values than the words of "all|first", where all alternatives are in small letters
---@field alone? string the value if none follows: the flag is the last word, or the next word begins with a dash
---@field kind? "text"|"number"|"integer" default "text"
---@field default? any
---@field many? boolean the flag may occur several times: the value is an array
---@field help? string a flag without it is not in the help

-- --- parsing ---

local function find(flags, word)
  local name = word:match("^%-%-(.+)$")
  local letter = word:match("^%-(%a)$")
  name = name and name:gsub("_", "-")
  for _, flag in ipairs(flags) do
    if (name and flag.name == name) or (letter and flag.short == letter) then return flag end
  end
end

local function unknown(flags, word)
  local names = {}
  for _, flag in ipairs(flags) do names[#names + 1] = flag.name end
  return ("unknown flag '%s'%s"):format(word, spelling.suggestion((word:gsub("^%-+", "")), names, "--"))
end

-- The value of the flag's kind for a text; nil, message if the text has another kind.
local function convert(flag, text)
  if not flag.kind or flag.kind == "text" then return text end
  local number = tonumber(text)
  local fine = number and number - number == 0 and (flag.kind == "number" or number % 1 == 0)
  if fine then return number end
  return nil, ("--%s wants a %s, got '%s'"):format(flag.name, flag.kind == "integer" and "whole number" or "number", text)
end

---Parses the words of a command line.
---@param flags actor.flags.Flag[]
---@param args string[]
---@return table<string, any>? values by name, with the defaults; nil after an error
---@return string[]|string rest the other words; or the error message
---@return string[]? given the names of the given flags, in order of first appearance
function M.parse(flags, args)
  local values, rest, given, known = {}, {}, {}, {}
  for _, flag in ipairs(flags) do values[flag.name] = flag.default end
  local i = 1
  while i <= #args do
    local word = args[i]
    local head, text = word:match("^(%-%-[^=]+)=(.*)$")
    local flag = find(flags, head or word)
    if not flag then
      local letter, rest_of_word = word:match("^(%-%a)(.+)$") -- -j2
      local short = letter and find(flags, letter)
      if short and short.value then flag, text = short, rest_of_word end
    end
    if flag and not known[flag.name] then known[flag.name], given[#given + 1] = true, flag.name end
    if not flag then
      if word:match("^%-.") then return nil, unknown(flags, head or word) end
      rest[#rest + 1] = word
    elseif not flag.value then
      if text then return nil, ("--%s takes no value"):format(flag.name) end
      values[flag.name] = true
    else
      if not text and flag.alone and (args[i + 1] or "-"):find("^%-") then text = flag.alone end
      if not text then
        i = i + 1
        text = args[i]
        if not text then return nil, ("--%s wants a value: --%s %s"):format(flag.name, flag.name, flag.value) end
      end
      local value, wrong = convert(flag, text)
      if value == nil then return nil, wrong end
      if flag.many then
        if values[flag.name] == flag.default then values[flag.name] = {} end
        table.insert(values[flag.name], value)
      else
        values[flag.name] = value
      end
    end
    i = i + 1
  end
  return values, rest, given
end

local help_column, help_width = 32, 78

---Wraps a text into lines of at most `width` characters. Indents all lines but the first.
---@param text string
---@param width integer
---@param indent integer
---@return string
function M.wrapped(text, width, indent)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > width then lines[#lines + 1], line = line, "" end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

---Returns the flags with a help text.
---@param flags actor.flags.Flag[]
---@return actor.flags.Flag[]
function M.visible(flags)
  local out = {}
  for _, flag in ipairs(flags) do
    if flag.help then out[#out + 1] = flag end
  end
  return out
end

---Returns the help text: the lines that describe the flags.
---@param flags actor.flags.Flag[]
---@return string
function M.help(flags)
  local lines = {}
  for _, flag in ipairs(M.visible(flags)) do
    local head = ("  %s--%s%s"):format(flag.short and ("-%s,"):format(flag.short) or "", flag.name,
      flag.value and (flag.alone and " [%s]" or " %s"):format(flag.value) or "")
    local default = flag.default ~= nil and (" (%s)"):format(flag.default) or ""
    if #head > help_column - 2 then
      lines[#lines + 1] = head
      head = ""
    end
    lines[#lines + 1] = head .. (" "):rep(help_column - #head)
      .. M.wrapped(flag.help .. default, help_width, help_column)
  end
  return table.concat(lines, "\n")
end

---Returns the words in the name of a value: "all" and "first" of "all|first", "poll:" of "event|poll:SECONDS".
---@param value string
---@return string[] words
---@return boolean closed no other value is valid
function M.words(value)
  local words, closed = {}, value:find("|", 1, true) ~= nil
  if not closed then return words, false end
  for part in value:gmatch("[^|]+") do
    local word = part:match("^[%l%-]+:?")
    words[#words + 1] = word
    closed = closed and word == part
  end
  return words, closed
end

-- The error for a value that is none of its flag's words.
local function wrong_word(flags, values)
  for _, flag in ipairs(flags) do
    local words, closed = M.words(flag.value or "")
    local value = values[flag.name]
    local valid = not closed or value == nil
    for _, word in ipairs(words) do valid = valid or word == value end
    if not valid then
      local last = table.remove(words)
      return ("--%s wants %s or %s, got '%s'"):format(flag.name, table.concat(words, ", "), last, value)
    end
  end
end

local wanted = false -- true while `of_command` runs a script: `command` then raises the script's description

local function page_of(flags, usage, more) return usage .. "\n" .. M.help(flags) .. (more and "\n" .. more or "") end

---Begins `actorhost NAME`: parses its arguments, and handles `--help`, which is one of the flags.
---@param name string
---@param flags actor.flags.Flag[]
---@param usage string the first lines of the help
---@param more? string lines of the help after the flags
---@return table<string, any>? values nil: the command has ended
---@return string[]|integer rest the other words; or the exit code
---@return fun(code: integer, message: string): integer fail prints an error and returns its code
---@return string[]? given the names of the given flags
function M.command(name, flags, usage, more)
  if wanted then error({ flags = flags, page = page_of(flags, usage, more) }, 0) end
  local function fail(code, message)
    require("actor.c.command").err(("actorhost %s: %s"):format(name, message))
    return code
  end
  local values, rest, given = M.parse(flags, require("actor").args)
  local wrong = not values and rest or wrong_word(flags, values)
  if wrong then return nil, fail(2, ("%s\nrun 'actorhost %s --help' for the flags"):format(wrong, name)), fail end
  if values.help then
    print(page_of(flags, usage, more))
    return nil, 0, fail
  end
  return values, rest, fail, given
end

---Returns the flags and the help of a subcommand in Lua. Its script runs with `--help` until it calls `command`.
---@param name string
---@return {flags: actor.flags.Flag[], page: string}
function M.of_command(name)
  local script = assert(load(require("actor.c.core").library_text("command/" .. name), "@" .. name))
  local actor = require("actor")
  local args = actor.args
  actor.args, wanted = { "--help" }, true
  local _, found = pcall(script)
  actor.args, wanted = args, false
  if type(found) ~= "table" then error(found, 0) end
  return found
end

return M
