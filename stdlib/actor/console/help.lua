--- The texts of the console's command `:help`: the commands, and the docstrings of the standard library.
local commands = require("actor.console.commands")
local help = require("actor.help")
local spelling = require("actor.c.names")
local text = require("actor.inspect.text")

local M = {}

local keys = [[
The prompt names the nodes that run Lua. Values are printed; `_` is the last
value. A chunk may have several lines. A chunk on a node of a job reads and
changes the local variables of the script's main chunk, where the script now
is, then its globals, then the library's modules (actor, param, tensor, ...).
Tab completes, Ctrl-R searches the history, Ctrl-C clears the line or
interrupts the chunk, Ctrl-D leaves.]]

---Returns the keys of the console and the list of its commands, one per line.
---@return string
function M.overview()
  local rows = {}
  for i, command in ipairs(commands.list) do rows[i] = { "  :" .. command.name .. " " .. command.arguments, command.summary } end
  local list = text.columns({ "", "" }, rows):gsub("^[^\n]*\n", "")
  return keys .. "\n\n" .. list .. "\n\n:help NAME describes a function of the library, such as :help param.run"
end

---Returns the description of a command, or the docstring of a name of the library.
---@param name string
---@return string? text
---@return string? message if the name is unknown
function M.about(name)
  local command = commands.find(name:gsub("^:", ""))
  if name:sub(1, 1) == ":" and command then
    return (":%s %s\n  %s"):format(command.name, command.arguments, command.summary)
  end
  local parts = {}
  for i, entry in ipairs(help.find(name)) do
    parts[i] = help.text(entry)
    if entry.head and not entry.title:find(".", 1, true) and #help.contents(entry.module) > 0 then
      parts[i] = parts[i] .. "\n\n  " .. table.concat(help.contents(entry.module), " ")
    end
  end
  if #parts > 0 then return table.concat(parts, "\n\n") end
  if command then return M.about(":" .. name) end
  return nil, ("nothing is known about '%s'%s"):format(name,
    spelling.suggestion(name:match("[%w_]+$") or name, help.names()))
end

return M
