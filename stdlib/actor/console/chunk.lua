--- Parses prompt input into a function. Checks whether the input is complete and whether it is an expression with
--- values.
local M = {}

local most_ends = 20

-- Statements followed by an expression, such as "x = 1; x": returns the expression after one of the last statement
-- ends.
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

---Loads the source of a chunk. It first tries `return` before the source, so that `1 + 1` has a value. It drops a
---leading `=`, which older prompts require. An expression after statements has a value, too.
---@param source string
---@param name? string name in errors, default "=input"
---@return function? chunk
---@return string? message the error
---@return boolean? open whether further lines could complete it
---@return string source the source to run
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

---Checks whether a chunk is a single `local` statement, whose variables end with the chunk.
---@param source string
---@return string? name the first variable
function M.lone_local(source)
  local names = source:match("^%s*local%s+([%a_][%w_%s,]*)=") or source:match("^%s*local%s+function%s+([%a_][%w_]*)")
    or source:match("^%s*local%s+([%a_][%w_%s,]*)$")
  return names and names:match("^[%w_]+")
end

return M
