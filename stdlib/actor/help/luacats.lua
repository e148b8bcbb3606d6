--- The tags of a docstring: parameters, returned values and fields with their LuaCATS types.
local M = {}

---@class actor.help.Tag
---@field kind string "param", "return", "field", "type", "alias" or another tag
---@field name? string of a parameter
---@field optional? boolean
---@field type string "" without a type
---@field text string

-- Splits a text after its leading type.
local function split_type(text)
  local depth, i, last = 0, 1, ""
  while i <= #text do
    local sign = text:sub(i, i)
    if sign == '"' then
      i = text:find('"', i + 1, true) or #text
    elseif sign:find("[%[({<]") then
      depth = depth + 1
    elseif sign:find("[%])}>]") then
      depth = depth - 1
    elseif sign == " " and depth == 0 and not last:find("[,|:]") and not text:find("^%s*[|:]", i) then
      return text:sub(1, i - 1), text:sub(i + 1)
    end
    if sign ~= " " then last = sign end
    i = i + 1
  end
  return text, ""
end
M.split_type = split_type

---Splits the lines of a docstring into its description and its tags.
---@param lines string[]
---@return string[] description
---@return actor.help.Tag[] tags
function M.parse(lines)
  local description, tags = {}, {}
  for _, line in ipairs(lines) do
    local kind, rest = line:match("^@(%a+)%s*(.*)$")
    if kind then
      tags[#tags + 1] = { kind = kind, rest = rest }
    elseif #tags > 0 then
      tags[#tags].rest = tags[#tags].rest .. " " .. line:match("^%s*(.-)%s*$")
    else
      description[#description + 1] = line
    end
  end
  for _, tag in ipairs(tags) do
    local rest = tag.rest
    if tag.kind == "param" then
      local name, optional, after = rest:match("^(%S-)(%??)%s+(.*)$")
      tag.name, tag.optional, rest = name or rest, optional == "?", after or ""
    end
    if tag.kind == "param" or tag.kind == "return" or tag.kind == "type" then
      tag.type, tag.text = split_type(rest)
    else
      tag.type, tag.text = "", rest
    end
  end
  return description, tags
end

local of_the_language = {}
local names = "any nil boolean string number integer table function fun thread userdata cdata self true false ffi.cdata"
for name in names:gmatch("%S+") do of_the_language[name] = true end

---Calls `on_name` with each name of a type, other than the language's own types, and returns the type with the names
---replaced by the results. `on_text` gets the other parts.
---@param type string
---@param on_name fun(name: string): string
---@param on_text? fun(text: string): string
---@return string
function M.names(type, on_name, on_text)
  on_text = on_text or function(text) return text end
  local out, at = {}, 1
  while at <= #type do
    local quoted = type:match('^"[^"]*"', at)
    local name = type:match("^[%a_][%w_.]*", at)
    local part = quoted or name or type:sub(at, at)
    local is_key = name and type:find("^%??%s*:", at + #name) and not type:find("^%??%s*:%s*$", at + #name)
    local known = of_the_language[name] or (name and name:find("^%u$")) -- a letter is a generic type
    out[#out + 1] = name and not is_key and not known and on_name(name) or on_text(part)
    at = at + #part
  end
  return table.concat(out)
end

return M
