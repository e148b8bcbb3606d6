--- Lua as HTML with classes for its parts: k keyword, s text, c comment, n number, o output of an example.
local tokens = require("actor.console.tokens")

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

local classes = { number = "n", string = "s", comment = "c" }

local function class_of(token)
  if token.kind == "name" then return keywords[token.text] and "k" end
  if token.kind == "open" then return token.text:find("^%-%-") and "c" or "s" end
  return classes[token.kind]
end

---Returns Lua code for HTML.
---@param code string
---@return string
function M.lua(code)
  local out = {}
  local function add(class, text)
    if text ~= "" then out[#out + 1] = class and span(class, text) or M.escaped(text) end
  end
  for _, token in ipairs(tokens.of(code)) do
    local class, text, output = class_of(token), token.text, nil
    if class == "c" and text:find("-->", 1, true) then text, output = text:match("^(.-)(%-%->.*)$") end
    add(class, text)
    if output then add("o", output) end
  end
  return table.concat(out)
end

return M
