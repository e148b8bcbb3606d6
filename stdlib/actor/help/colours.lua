--- Lua as HTML with classes for its parts: k keyword, s text, c comment, n number, o output of an example.
local M = {}

local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
  while]]):gmatch("%S+") do keywords[word] = true end

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

---Returns a text for HTML.
---@param text string
---@return string
function M.escaped(text) return (text:gsub('[&<>"]', escapes)) end

local function span(class, text) return ('<span class="%s">%s</span>'):format(class, M.escaped(text)) end

-- The next part of the code at a position: its class or nil, its text.
local function part_at(code, at)
  local output = code:match("^%-%->[^\n]*", at)
  if output then return "o", output end
  local comment = code:match("^%-%-%[%[.-%]%]", at) or code:match("^%-%-[^\n]*", at)
  if comment then
    local stop = comment:find("-->", 3, true)
    return "c", stop and comment:sub(1, stop - 1) or comment
  end
  local long = code:match("^%[%[.-%]%]", at)
  if long then return "s", long end
  local quote = code:match("^[\"']", at)
  if quote then
    local stop = at + 1
    while stop <= #code and code:sub(stop, stop) ~= quote do
      stop = stop + (code:sub(stop, stop) == "\\" and 2 or 1)
    end
    return "s", code:sub(at, stop)
  end
  local word = code:match("^[%a_][%w_]*", at)
  if word then return keywords[word] and "k" or nil, word end
  local number = code:match("^%d[%w.]*", at)
  if number then return "n", number end
  return nil, code:sub(at, at)
end

---Returns Lua code for HTML.
---@param code string
---@return string
function M.lua(code)
  local out, at = {}, 1
  while at <= #code do
    local class, text = part_at(code, at)
    out[#out + 1] = class and span(class, text) or M.escaped(text)
    at = at + #text
  end
  return table.concat(out)
end

return M
