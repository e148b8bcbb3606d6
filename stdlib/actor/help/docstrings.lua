--- Reads the docstrings of a Lua file: its LuaCATS comments and the names that the lines after them define. A fenced
--- block of Lua in a docstring is an example: editors show it highlighted, and a test runs it.
---
--- An example is the text of a job after the line `local actor = require "actor"`. `-->` is followed by the output of
--- rank 0. After the fence's `lua`, `nodes=2` limits the example to runs of two nodes.

---@class actor.help.Entry
---@field module string "actor.mapreduce.files"
---@field name string "load"; for the comment at a file's head, the name of the module
---@field owner? string the object of a method or field: "dataset"
---@field title string "mapreduce.files.load(url, options)"
---@field text string[] the docstring's lines, without its examples; empty for an alias
---@field examples actor.help.Example[]
---@field line integer of the definition in the module's file
---@field head? boolean a comment at a file's head
---@field class? string the class of a field: "actor.param.Run"
---@field type? string the class or alias that the entry describes: "actor.param.StopContext"
---@field alias? boolean an alias of types
---@field base? string the class that a class extends
---@field related? string[] titles of other entries with the name of a module
---@field shown? string a field's name, with a question mark where it may be nil
---@field inner? boolean a field, or a function that scripts cannot call by this name
---@field returns? string the type that a function's line declares for its result
---@field target? {module: string, name: string} the target of an alias

---@class actor.help.Example
---@field code string
---@field nodes? integer the number of nodes of its runs; nil: any number

local M = {}

-- Parses the name that a line of code defines: owner, separator, name, arguments.
local function definition(line)
  local owner, sign, name, arguments = line:match("^%s*function ([%w_]+)([.:])([%w_]+)(%b())")
  if owner then return owner, sign, name, arguments end
  owner, name = line:match("^%s*([%w_]+)%.([%w_]+) =")
  if owner then return owner, ".", name, line:match("%-%-%-@type fun(%b())") or line:match("= function(%b())") or "" end
  name, arguments = line:match("^%s*local function ([%w_]+)(%b())")
  if name then return "M", ".", name, arguments end
  if line:find("^return function") then return "M", "", "", line:match("%b()") end
end

---The classes of scripts' objects, in lower case: those with check.class or check.strict.
---@type table<string, boolean>
M.objects = {}

local function short(module) return (module:gsub("^actor%.", "")) end

-- Reads a file's text line by line and appends the documented names to `entries`.
local Reader = {}
Reader.__index = Reader

-- Separates the lines of a docstring from the examples among them.
local function without_examples(lines)
  local text, examples, code, nodes = {}, {}, nil, nil
  for _, line in ipairs(lines) do
    local words = line:match("^```lua(.*)$")
    if words then
      code, nodes = {}, tonumber(words:match("nodes=(%d+)"))
    elseif code and line == "```" then
      examples[#examples + 1] = { code = table.concat(code, "\n"), nodes = nodes }
      code = nil
    elseif code then
      code[#code + 1] = line
    else
      text[#text + 1] = line
    end
  end
  return text, examples
end

function Reader:add(fields)
  fields.module, fields.line = self.module, fields.line or self.number
  fields.text, fields.examples = without_examples(fields.text)
  self.entries[#self.entries + 1] = fields
end

-- Adds a class, and the lines `---@field name type text` as entries of its fields.
function Reader:class(block)
  local last = block.class:match("([%w_]+)$")
  local owner, about, base = last:lower(), {}, nil
  local text = about -- of the class, then of the newest field
  local fields = {}
  for i, line in ipairs(block) do
    local name, optional, rest = line:match("^@field ([%w_]+)(%??)%s+(.*)$")
    local after = line:match("^@class [%w_.]+(.*)$")
    if name == "private" and rest then
      text = {} -- of a field that scripts do not see
    elseif name and rest ~= self.module .. "." .. name then
      text = { rest }
      fields[#fields + 1] = { name = name, owner = owner, title = owner .. "." .. name, text = text, inner = true,
        class = block.class, shown = name .. optional, line = self.number - #block + i - 1 }
    elseif after then
      base = after:match("^%s*:%s*([%w_.]+)")
      about[#about + 1] = after:gsub("^%s*:%s*[%w_.]+", ""):match("%S.*")
    elseif not line:find("^@") then
      text[#text + 1] = line
    end
  end
  for _, field in ipairs(fields) do self:add(field) end
  if block.class == self.module then return end -- the file's head describes it
  self:add { name = last, title = block.class, text = about, type = block.class, base = base, inner = true }
end

-- The names in the text "(self: T, other: T, options?: {a: integer, b: string})" of a function's type.
local function names_of(arguments)
  local names, depth = {}, 0
  local marked = arguments:sub(2, -2):gsub("[%w_]+%??%s*:", "\0%0")
  for sign in marked:gmatch("[%z({})<>][%w_]*") do
    if sign:sub(1, 1) == "\0" then
      if depth == 0 then names[#names + 1] = sign:sub(2) end
    else
      depth = depth + (sign:find("^[({<]") and 1 or -1)
    end
  end
  return "(" .. table.concat(names, ", ") .. ")"
end

-- Adds the entry of a docstring, for the name that the line after it defines.
function Reader:defined(block, line)
  local flat, nested = line:gsub("^([%w ]-)M%.([%w_]+%.)", "%1%2") -- M.npy.load
  flat = flat:gsub("^function [%w_]+%.(%u)", "function %1") -- datasets.Dataset:iterate
  local owner, sign, name, arguments = definition(flat)
  if not owner then return end
  for _, text in ipairs(block) do
    local typed = arguments == "" and text:match("^@type fun(%b())")
    arguments = typed or arguments
  end
  if arguments:find(":", 1, true) then arguments = names_of(arguments) end
  local method = owner ~= "M" and owner ~= "methods"
  local shown = method and owner:lower() or short(self.module)
  if nested > 0 then shown = short(self.module) .. "." .. shown end
  if method and arguments:find("^%(self") then sign, arguments = ":", arguments:gsub("^%(self,? ?", "(") end
  self:add {
    name = name ~= "" and name or self.module:match("[^.]+$"), owner = owner ~= "M" and owner:lower() or nil,
    title = shown .. sign .. name .. arguments, text = block, inner = line:find("^%s*local ") ~= nil,
    returns = line:match("%-%-%-@type fun%b():%s*([%w_.?|]+)"),
  }
end

-- Adds an alias for each name of a line `M.load, M.words = files.load, natives.words`. The targets have the docstrings.
function Reader:aliases(line)
  local left, right = line:match("^([%w_., ]+) = (.+)$")
  if not left or not left:find("%.") then return end
  right = right:gsub('require%("([%w_.]+)"%)%.', function(module)
    self.required[module:gsub("%.", "_")] = module
    return module:gsub("%.", "_") .. "."
  end)
  local targets = {}
  for word in right:gmatch("[^, ]+") do targets[#targets + 1] = word end
  local i = 0
  for owner, name in left:gmatch("([%w_]+)%.([%w_]+)") do
    i = i + 1
    local from, target = (targets[i] or ""):match("^([%w_]+)%.([%w_]+)$")
    if target and (self.required[from] or target ~= name) then
      self:add { name = name, owner = owner ~= "M" and owner:lower() or nil, title = short(self.module) .. "." .. name,
        text = {}, target = { module = self.required[from] or self.module, name = target } }
    end
  end
end

-- Reads the next line: collects a comment's lines in `block`, and adds the entries of the code line after it.
function Reader:next(line)
  self.number = self.number + 1
  local comment = line:match("^%s*%-%-%-(.*)$")
  if comment then
    local class = comment:match("^@class ([%w_.]+)")
    if class then self.block.class = class end
    local alias, values = comment:match("^@alias ([%w_.]+)%s*(.*)$")
    if alias then
      self:add { name = alias:match("[%w_]+$"), title = alias, text = { values }, type = alias, alias = true,
        inner = true }
      return
    end
    if comment:find("^```") then self.block.fenced = not self.block.fenced end
    self.block[#self.block + 1] = self.block.fenced and comment or (comment:gsub("^ ", ""))
    return
  end
  local block = self.block
  self.block = {}
  local object = line:match("^local (%u%w*) = check%.class") or line:match("setmetatable%((%u%w*), check%.strict")
  if object then M.objects[object:lower()] = true end
  local variable, module = line:match('^local ([%w_]+) = require%("(actor[%w_.]*)"%)')
  if variable then self.required[variable] = module end
  if self.head then
    self.head = false
    if #block == 0 then return end
    self:add { name = self.module:match("[^.]+$"), title = short(self.module), text = block, head = true }
  elseif block.class then
    self:class(block)
  elseif #block > 0 then
    self:defined(block, line)
  else
    self:aliases(line)
  end
end

---Appends the entries of a file to `entries`.
---@param module string "actor.param"
---@param text string of the file
---@param entries actor.help.Entry[]
function M.read(module, text, entries)
  local reader = { entries = entries, module = module, block = {}, required = {}, head = true, number = 0 }
  setmetatable(reader, Reader)
  for line in (text .. "\n"):gmatch("(.-)\n") do reader:next(line) end
end

return M
