--- What is typed at a prompt, as a function: is it complete, and is it an expression whose values are wanted?
local M = {}

local most_ends = 20

-- Statements and then an expression, such as "x = 1; x": what can be returned behind one of the last ends of statements.
local function with_value(source, name)
  local ends = {}
  for at in source:gmatch("[;\n]()") do ends[#ends + 1] = at end
  for i = math.max(1, #ends - most_ends), #ends do
    local text = source:sub(1, ends[i] - 1) .. " return " .. source:sub(ends[i])
    local loaded = load(text, name, "t")
    if loaded then return loaded, text end
  end
end

local function is_open(message)
  return message:find("near '<eof>'", 1, true) ~= nil and not message:find("unfinished string", 1, true)
end

---Loads the source of a chunk. `return` in front of it is tried first, so that `1 + 1` has a value; a `=` in front, as
---older prompts want it, is left out. An expression behind statements has a value, too.
---@param source string
---@param name? string as errors show it, default "=input"
---@return function? chunk
---@return string? message what is wrong
---@return boolean? open whether more lines could make it right
---@return string source what is to be run
function M.load(source, name)
  name = name or "=input"
  source = source:gsub("^%s*=", "")
  local expression, why = load("return " .. source, name, "t")
  if expression then return expression, nil, nil, source end
  local statements, message = load(source, name, "t")
  if statements then return statements, nil, nil, source end
  local valued, text = with_value(source, name)
  if valued then return valued, nil, nil, text end
  return nil, message, is_open(message) or is_open(why), source
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
