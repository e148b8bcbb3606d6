--- Completion of the command line by shells, for `actorhost help --completion SHELL`: the subcommands with their flags,
--- from the tables that the parsers use, and a script for each shell.
local barrier = require("actor.barrier")
local flags = require("actor.flags")

local M = {}

---@class actor.completion.Flag
---@field names string[] "-n", "--nproc-per-node"
---@field value? string the name of its value; nil for a switch
---@field optional boolean the value may be omitted
---@field words string[] its known values: "all"; a word with a colon at its end, "ssp:", begins a value
---@field paths? "file"|"folder"|"rule" the value may be a path, of a rule a path of a Lua file
---@field help string

---@class actor.completion.Command
---@field name string
---@field purpose string
---@field flags actor.completion.Flag[]
---@field operand? "job"|"rule"|"topic" the kind of the words beside the flags; words after a job belong to the job

-- The barrier rules: "bsp", "ssp:".
local function rules()
  local out = {}
  for _, rule in ipairs(barrier.list()) do
    out[#out + 1] = rule.usage:match("^[%w_]+:?")
  end
  return out
end

local function flag_of(names, value, optional, help)
  local is_rule = value and value:find("RULE", 1, true)
  local paths = value and (is_rule and "rule" or value:find("FILE", 1, true) and "file" or value:find("DIR", 1, true) and "folder")
  return { names = names, value = value, optional = optional, help = help, paths = paths or nil,
    words = is_rule and rules() or value and flags.words(value) or {} }
end

---Returns the flags of a subcommand in C++, from the texts {names, value, help} of each.
---@param texts string[][]
---@return actor.completion.Flag[]
function M.of_texts(texts)
  local out = {}
  for i, text in ipairs(texts) do
    local names, value = {}, text[2]:match("^%[?(.-)%]?$")
    for name in text[1]:gmatch("[^,]+") do names[#names + 1] = name end
    out[i] = flag_of(names, value ~= "" and value or nil, text[2]:find("^%[") ~= nil, text[3])
  end
  return out
end

---Returns the flags of a subcommand in Lua.
---@param list actor.flags.Flag[]
---@return actor.completion.Flag[]
function M.of_list(list)
  local out = {}
  for i, flag in ipairs(flags.visible(list)) do
    local names = { flag.short and "-" .. flag.short }
    names[#names + 1] = "--" .. flag.name
    out[i] = flag_of(names, flag.value, flag.alone ~= nil, flag.help)
  end
  return out
end

local operands = { { "job.lua", "job" }, { "rule.lua", "rule" }, { "NAME", "topic" } }

---Returns the words beside the flags of a subcommand, from its line in the usage text.
---@param words string "sim [flags] [rule.lua...]"
---@return "job"|"rule"|"topic"|nil
function M.operand(words)
  for _, pair in ipairs(operands) do
    if words:find(pair[1], 1, true) then return pair[2] end
  end
end

---The shells.
M.shells = { "bash", "zsh", "fish" }

---Returns a shell's script.
---@param shell string of `shells`
---@param commands actor.completion.Command[]
---@param topics string[] names for `actorhost help NAME`
---@return string
function M.script(shell, commands, topics)
  return require("actor.completion." .. shell)(commands, topics)
end

---Returns `text` as one word of a shell.
---@param text string
---@return string
function M.quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

---Returns the values of `key` in each item.
---@param items table[]
---@param key string
---@return any[]
function M.each(items, key)
  local out = {}
  for i, item in ipairs(items) do out[i] = item[key] end
  return out
end

return M
