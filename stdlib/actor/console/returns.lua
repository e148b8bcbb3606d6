--- Infers the type of an expression at the prompt, for completion, without calling a function: from the values of names
--- and fields, and for a call from the return type in the function's docstring.
local help = require("actor.help")
local tensor = require("actor.tensor.base")
local tokens = require("actor.console.tokens")

local M = {}

local opening = { [")"] = "(", ["}"] = "{", ["]"] = "[" }

-- The place of the bracket that the bracket at `last` closes.
local function bracket_before(list, last)
  local depth = 0
  for i = last, 1, -1 do
    local token = list[i]
    if token.kind == "sign" and opening[token.text] then depth = depth + 1 end
    if token.kind == "sign" and (token.text == "(" or token.text == "{" or token.text == "[") then
      depth = depth - 1
      if depth == 0 then return i end
    end
  end
end

local keywords = { ["and"] = true, ["or"] = true, ["not"] = true, ["return"] = true, ["in"] = true, ["then"] = true, ["do"] = true,
  ["else"] = true, ["if"] = true, ["while"] = true, ["until"] = true, ["elseif"] = true, ["local"] = true, ["end"] = true }

local function ends_value(token)
  return token and (token.kind == "name" and not keywords[token.text] or token.kind == "string" or opening[token.text] ~= nil)
end

-- The expression that ends at `last`, as steps from its beginning: {name=}, {string=true}, {field=}, {method=},
-- {call=true}; nil for other expressions.
local function steps_to(list, last)
  local token = list[last]
  if not token then return nil end
  if token.kind == "string" and not ends_value(list[last - 1]) then return { { string = true } } end
  if token.kind == "name" then
    if keywords[token.text] then return nil end
    local sign = list[last - 1] and list[last - 1].text
    if sign ~= "." and sign ~= ":" then return { { name = token.text } } end
    local steps = steps_to(list, last - 2)
    if steps then steps[#steps + 1] = { [sign == "." and "field" or "method"] = token.text } end
    return steps
  end
  local first = token.kind == "string" and last or token.text ~= "]" and opening[token.text] and bracket_before(list, last)
  if not first then return nil end
  if not ends_value(list[first - 1]) then -- (expression)
    local inside = token.text == ")" and steps_to(list, last - 1)
    local begin = inside and M.begin_of(list, last - 1)
    return begin == first + 1 and inside or nil
  end
  local steps = steps_to(list, first - 1)
  if steps then steps[#steps + 1] = { call = true } end
  return steps
end

---The place of the first token of the expression that ends at `last`.
---@param list actor.console.Token[]
---@param last integer
---@return integer
function M.begin_of(list, last)
  local i = last
  while true do
    if opening[list[i].text] then i = bracket_before(list, i) or i end
    local before = list[i - 1]
    if before and (before.text == "." or before.text == ":") then
      i = i - 2
    elseif list[i].kind ~= "name" and ends_value(before) then
      i = i - 1
    else
      return i
    end
    if i < 1 or not list[i] then return i + 1 end
  end
end

-- The kind of value of a type in a docstring: {value=} with the methods of a tensor, {class="dataset"}, {text=true}, or
-- nil.
local function kind_of(type_name)
  type_name = (type_name or ""):gsub("|nil$", ""):gsub("%?$", "")
  if type_name == "string" then return { text = true } end
  if type_name == "actor.Tensor" then
    require("actor.tensor")
    return { value = tensor.methods }
  end
  local class = type_name:match("^actor%.[%w_.]*(%u%w*)$")
  return class and { class = class:lower() }
end

---Finds the kind of value that the expression at the end of a text has.
---@param before string "mr.range(1, 3)"
---@param global fun(name: string): any the value of a name
---@param field fun(value: any, key: string): any reads a field without calling a function
---@return {value?: any, class?: string, text?: boolean}? kind a value, the class that a docstring names, or a string
function M.of(before, global, field)
  local list = {}
  for _, token in ipairs(tokens.of(before)) do
    if token.kind == "open" then return nil end
    if token.kind ~= "space" and token.kind ~= "comment" then list[#list + 1] = token end
  end
  local steps = steps_to(list, #list)
  if not steps then return nil end
  local at
  for _, step in ipairs(steps) do
    if step.name then
      at = { value = global(step.name) }
    elseif step.string then
      at = { text = true }
    elseif step.call then
      at = kind_of(at.entry and help.returned(at.entry) or type(at.value) == "function" and help.returned(help.of_function(at.value)))
    elseif at.class then
      at = { entry = help.member(at.class, step.field or step.method) }
    elseif at.text then
      at = { value = string[step.field or step.method] }
    else
      at = { value = field(at.value, step.field or step.method) }
    end
    if not at or not (at.value ~= nil or at.entry or at.class or at.text) then return nil end
  end
  return at
end

return M
