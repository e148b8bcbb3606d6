--- Divides Lua into tokens: typed Lua for completion and for the history, examples for their colours in the reference.
local M = {}

---@class actor.console.Token
---@field kind "name"|"number"|"string"|"comment"|"space"|"sign"|"open" "open": a string or comment without its end
---@field text string

-- Returns the last place of the long bracket ("[[...]]", "[==[...]==]") that begins at `at`: false if it does not end,
-- nil if no long bracket begins there.
local function long_end(source, at)
  local level = source:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, last = source:find("]" .. level .. "]", at + #level + 2, true)
  return last or false
end

-- The end of a string in quotes that begins at `at`, or false without one.
local function quoted_end(source, at)
  local quote, place = source:sub(at, at), at + 1
  while place <= #source do
    local char = source:sub(place, place)
    if char == quote then return place end
    if char == "\n" then return false end
    place = place + (char == "\\" and 2 or 1)
  end
  return false
end

-- The kind and the last place of the token at `at`; the last place is false without an end.
local function token_at(source, at)
  local _, last = source:find("^%s+", at)
  if last then return "space", last end
  _, last = source:find("^[%a_][%w_]*", at)
  if last then return "name", last end
  _, last = source:find("^%.?%d[%w.]*", at) -- the sign of an exponent is a token of its own
  if last then return "number", last end
  if source:find("^%-%-", at) then
    local long = long_end(source, at + 2)
    if long ~= nil then return "comment", long end
    return "comment", (source:find("\n", at, true) or #source + 1) - 1
  end
  local long = long_end(source, at)
  if long ~= nil then return "string", long end
  if source:find("^[\"']", at) then return "string", quoted_end(source, at) end
  return "sign", select(2, source:find("^%.+", at)) or at
end

---Divides a text into tokens, which together are the text.
---@param source string
---@return actor.console.Token[]
function M.of(source)
  local tokens, at = {}, 1
  while at <= #source do
    local kind, last = token_at(source, at)
    if not last then kind, last = "open", #source end
    tokens[#tokens + 1] = { kind = kind, text = source:sub(at, last) }
    at = last + 1
  end
  return tokens
end

-- A string token on one line.
local function string_on_line(text)
  if not text:find("\n", 1, true) then return text end
  local level = text:match("^%[(=*)%[")
  if not level then return (text:gsub("\\\n", "\\n")) end
  local inside = text:sub(#level + 3, -#level - 3):gsub("^\n", "")
  return '"' .. inside:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\r", "\\r") .. '"'
end

-- A comment token as a comment that more code can follow.
local function comment_on_line(text)
  local inside = text:match("^%-%-%[=*%[(.*)%]=*%]$") or text:match("^%-%-(.*)$")
  inside = inside:gsub("%s*\n%s*", " ")
  local level = ""
  while inside:find("]" .. level .. "]", 1, true) or inside:sub(-#level - 1) == "]" .. level do level = level .. "=" end
  return ("--[%s[%s]%s]"):format(level, inside, level)
end

---Writes a chunk on one line, with the same meaning.
---@param source string a chunk that loads
---@return string
function M.one_line(source)
  if not source:find("\n", 1, true) then return source end
  local parts = {}
  for i, token in ipairs(M.of(source)) do
    local text = token.text
    if token.kind == "space" and text:find("\n", 1, true) then
      text = " "
    elseif token.kind == "string" then
      text = string_on_line(text)
    elseif token.kind == "comment" then
      text = comment_on_line(text)
    end
    parts[i] = text
  end
  return (table.concat(parts):match("^%s*(.-)%s*$"))
end

return M
