--- What is typed at a prompt, as a function: is it complete, and is it an expression whose values are wanted?
local M = {}

local function is_open(message)
  return message:find("near '<eof>'", 1, true) ~= nil and not message:find("unfinished string", 1, true)
end

---Loads the source of a chunk. `return` in front of it is tried first, so that `1 + 1` has a value; a `=` in front, as
---older prompts want it, is left out.
---@param source string
---@param name? string as errors show it, default "=input"
---@return function? chunk
---@return string? message what is wrong
---@return boolean? open whether more lines could make it right
function M.load(source, name)
  name = name or "=input"
  source = source:gsub("^%s*=", "")
  local expression, why = load("return " .. source, name, "t")
  if expression then return expression end
  local statements, message = load(source, name, "t")
  if statements then return statements end
  return nil, message, is_open(message) or is_open(why)
end

---Whether a chunk is one `local` statement: its variables end with it.
---@param source string
---@return string? name the first of them
function M.lone_local(source)
  local names = source:match("^%s*local%s+([%a_][%w_%s,]*)=") or source:match("^%s*local%s+function%s+([%a_][%w_]*)")
    or source:match("^%s*local%s+([%a_][%w_%s,]*)$")
  return names and names:match("^[%w_]+")
end

---A chunk on one line, for a history that keeps lines; nil where its line ends matter.
---@param source string
---@return string?
function M.one_line(source)
  if not source:find("\n", 1, true) then return source end
  if source:find("--", 1, true) or source:find("%[=*%[") or source:find("\\\n", 1, true) then return nil end
  return (source:gsub("%s*\n%s*", " "))
end

return M
