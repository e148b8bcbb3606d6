--- Finds docstrings by name, for `actorhost help NAME` and the console's `:help`. The docstrings are the LuaCATS
--- comments of the embedded standard library, so an editor and these commands show the same text.
local check = require("actor.check")
local core = require("actor.c.core")
local flags = require("actor.flags")
local util = require("actor.util")

---@class actor.help
local M = {}

---@class actor.help.Entry
---@field module string "actor.mapreduce.files"
---@field name string "load"; for the comment at a file's head, the name of the module
---@field owner? string the object of a method or field: "dataset"
---@field title string "mapreduce.files.load(url, options)"
---@field text string[] the docstring's lines; empty for an alias
---@field head? boolean a comment at a file's head
---@field class? string the class of a field: "actor.param.Run"
---@field type? string the class or alias that the entry describes: "actor.param.StopContext"
---@field base? string the class that a class extends
---@field related? string[] titles of other entries with the name of a module
---@field shown? string a field's name, with a question mark where it may be nil
---@field inner? boolean a field, or a function that scripts cannot call by this name
---@field target? {module: string, name: string} the target of an alias
---@field line? integer the line that defines a function
---@field returns? string the type that a function's line declares for its result

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

local objects = {} -- the classes of scripts' objects, in lower case: those with check.class or check.strict

local function short(module) return (module:gsub("^actor%.", "")) end

-- Reads a file's text line by line and appends the documented names to `entries`.
local Reader = {}
Reader.__index = Reader

function Reader:add(fields)
  fields.module = self.module
  self.entries[#self.entries + 1] = fields
end

-- Adds a class, and the lines `---@field name type text` as entries of its fields.
function Reader:class(block)
  local last = block.class:match("([%w_]+)$")
  local owner, about, base = last:lower(), {}, nil
  local text = about -- of the class, then of the newest field
  for _, line in ipairs(block) do
    local name, optional, rest = line:match("^@field ([%w_]+)(%??)%s+(.*)$")
    local after = line:match("^@class [%w_.]+(.*)$")
    if name and rest ~= self.module .. "." .. name then
      text = { rest }
      self:add { name = name, owner = owner, title = owner .. "." .. name, text = text, inner = true,
        class = block.class, shown = name .. optional }
    elseif after then
      base = after:match("^%s*:%s*([%w_.]+)")
      about[#about + 1] = after:gsub("^%s*:%s*[%w_.]+", ""):match("%S.*")
    elseif not line:find("^@") then
      text[#text + 1] = line
    end
  end
  if block.class == self.module then return end -- the file's head describes it
  self:add { name = last, title = block.class, text = about, type = block.class, base = base, inner = true }
end

-- Adds the entry of a docstring, for the name that the line after it defines.
function Reader:defined(block, line)
  local flat, nested = line:gsub("^([%w ]-)M%.([%w_]+%.)", "%1%2") -- M.npy.load
  flat = flat:gsub("^function [%w_]+%.(%u)", "function %1") -- datasets.Dataset:iterate
  local owner, sign, name, arguments = definition(flat)
  if not owner then return end
  local method = owner ~= "M" and owner ~= "methods"
  local shown = method and owner:lower() or short(self.module)
  if nested > 0 then shown = short(self.module) .. "." .. shown end
  if method and arguments:find("^%(self") then sign = ":" end
  self:add {
    name = name ~= "" and name or self.module:match("[^.]+$"), owner = owner ~= "M" and owner:lower() or nil,
    title = shown .. sign .. name .. arguments, text = block, inner = line:find("^%s*local ") ~= nil, line = self.number,
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
function Reader:line(line)
  local comment = line:match("^%s*%-%-%-(.*)$")
  if comment then
    local class = comment:match("^@class ([%w_.]+)")
    if class then self.block.class = class end
    local alias, values = comment:match("^@alias ([%w_.]+)%s*(.*)$")
    if alias then
      self:add { name = alias:match("[%w_]+$"), title = alias, text = { values }, type = alias, inner = true }
      return
    end
    self.block[#self.block + 1] = (comment:gsub("^ ", ""))
    return
  end
  local block = self.block
  self.block = {}
  local object = line:match("^local (%u%w*) = check%.class") or line:match("setmetatable%((%u%w*), check%.strict")
  if object then objects[object:lower()] = true end
  local variable, module = line:match('^local ([%w_]+) = require%("(actor[%w_.]*)"%)')
  if variable then self.required[variable] = module end
  if self.head then
    self.head = false
    if #block > 0 then self:add { name = self.module:match("[^.]+$"), title = short(self.module), text = block, head = true } end
  elseif block.class then
    self:class(block)
  elseif #block > 0 then
    self:defined(block, line)
  else
    self:aliases(line)
  end
end

local all

-- All entries of the library, in the order of the files' names.
local function entries()
  if all then return all end
  all = {}
  for module in util.pairs(core.library()) do
    if module:find("^actor") then
      local reader = setmetatable({ entries = all, module = module, block = {}, required = {}, head = true, number = 0 }, Reader)
      for line in (core.library_text(module) .. "\n"):gmatch("(.-)\n") do
        reader.number = reader.number + 1
        reader:line(line)
      end
    end
  end
  return all
end

local function within(module, path)
  return module == path or module:sub(1, #path + 1) == path .. "."
end

-- Adds to `found` the entries named `name` in a module and below it. If the module has `name` as an alias, adds only
-- the alias's target.
local function collect(found, module, owner, name)
  local fitting = {}
  for _, entry in ipairs(entries()) do
    local owns = owner and (entry.owner or entry.module:match("[^.]+$")) == owner
    if entry.name == name and not entry.type and (owns or within(entry.module, module)) then
      if entry.target and (owns or entry.module == module) then
        return collect(found, entry.target.module, nil, entry.target.name)
      end
      if not entry.target then fitting[#fitting + 1] = entry end
    end
  end
  for _, entry in ipairs(fitting) do found[#found + 1] = entry end
  return found
end

-- Names that scripts give modules.
local local_names = { mr = "mapreduce", co = "collective" }

-- The classes and aliases with a name, "param.StopContext", or with its last part, "StopContext" or "view".
local function types_of(name)
  local found = {}
  for _, entry in ipairs(entries()) do
    if entry.type and (entry.type == "actor." .. name or entry.name:lower() == name:lower()) then
      found[#found + 1] = entry
    end
  end
  return found
end

-- The module's head alone, with the titles of the other entries, if one of them is the head of a module of scripts.
local function of_module(found, name)
  for _, entry in ipairs(found) do
    if entry.head and entry.module == "actor." .. name then
      local related = {}
      for _, other in ipairs(found) do
        if other ~= entry and not other.class and not other.type then related[#related + 1] = other.title:match("^[^(]+") end
      end
      return { setmetatable({ related = related }, { __index = entry }) }
    end
  end
  return found
end

---Finds entries by a name, `param.run`, `dataset:map`, `barrier.pssp`, `mapreduce`, `param.StopContext`, or by its last
---part, `lock`. For the name of a module, finds the module.
---@param name string
---@return actor.help.Entry[]
function M.find(name)
  check.arg(name, "string", "name", "help.find")
  name = name:gsub("^actor[.:]", ""):gsub("%(%)$", "")
  local path, last = name:match("^(.*)[.:]([%w_]+)$")
  if not path then return of_module(util.joined(collect({}, "actor", nil, name), types_of(name)), name) end
  path = local_names[path] or path
  local found = collect({}, "actor." .. path, path:match("[%w_]+$"):lower(), last)
  for i, entry in ipairs(found) do
    -- The title of a function in an inner file is the form that scripts call.
    local arguments = (not entry.owner or entry.owner == "methods") and entry.title:match("%b()$")
    if arguments then found[i] = setmetatable({ title = path .. "." .. last .. arguments }, { __index = entry }) end
  end
  return util.joined(found, types_of(name))
end

local of_options = { options = true, run = true, train = true } -- parameters that are tables of options

-- The entries of a class's fields, then those of the classes that it extends.
local function fields_of(class)
  local fields, seen = {}, {}
  while class do
    local base
    for _, entry in ipairs(entries()) do
      if entry.type == class then base = entry.base end
      if entry.class == class and not seen[entry.name] then
        seen[entry.name] = true
        fields[#fields + 1] = entry
      end
    end
    class = base
  end
  return fields
end

local function add_fields(lines, class, indent)
  for _, entry in ipairs(fields_of(class)) do
    lines[#lines + 1] = indent .. entry.shown .. " " .. table.concat(entry.text, " ")
  end
end

-- The names of an object's methods: "dataset:map".
local function methods_of(name)
  local found = {}
  for _, entry in ipairs(entries()) do
    if entry.title:find("^" .. name .. ":%l") then found[name .. ":" .. entry.name] = true end
  end
  return util.sorted_keys(found)
end

---Returns an entry as lines of text.
---@param entry actor.help.Entry
---@return string
function M.text(entry)
  local lines = { entry.title .. (entry.base and ": " .. entry.base or "") }
  for _, line in ipairs(entry.text) do
    lines[#lines + 1] = "  " .. line:gsub("^@param ", "  "):gsub("^@return ", "  returns "):gsub("^@", "  ")
    local parameter, class = line:match("^@param ([%w_]+)%?? ([%w_.]+)")
    if of_options[parameter] then add_fields(lines, class, "      ") end
  end
  if entry.type then
    add_fields(lines, entry.type, "    ")
    local methods = methods_of(entry.name:lower())
    if #methods > 0 then lines[#lines + 1] = "  " .. flags.wrapped(table.concat(methods, " "), 97, 2) end
  end
  return table.concat(lines, "\n")
end

---Returns the names of the classes and aliases in an entry's text.
---@param entry actor.help.Entry
---@return string[]
function M.types(entry)
  local found = {}
  for _, line in ipairs(entry.text) do
    for name in line:gmatch("actor%.[%w_.]*%u%w*") do found[name] = true end
  end
  return util.sorted_keys(found)
end

---Lists the names that a module offers: its functions, "param.get", then the methods of its objects, "dataset:map".
---@param module string "actor.param"
---@return string[]
function M.contents(module)
  local found = {}
  local loaded, value = pcall(require, module)
  for name, member in pairs(loaded and type(value) == "table" and value or {}) do
    if type(member) == "function" then found[short(module) .. "." .. name] = true end
  end
  for _, entry in ipairs(entries()) do
    if entry.inner or entry.head then
      -- no name of its own
    elseif entry.module == module and not entry.owner then
      found[entry.title:match("^[%w_.]+")] = true
    elseif objects[entry.owner] and module ~= "actor" and within(entry.module, module) then
      found[entry.owner .. ":" .. entry.name] = true
    end
  end
  return util.sorted_keys(found)
end

---Lists all documented names, without their modules, for suggestions.
---@return string[]
function M.names()
  local names = {}
  for _, entry in ipairs(entries()) do names[#names + 1] = entry.name end
  return names
end

---Finds the entry of a function of the library.
---@param fn function
---@return actor.help.Entry?
function M.of_function(fn)
  local info = debug.getinfo(fn, "S")
  local module = info.source:match("^@stdlib/(.*)%.lua$")
  module = module and module:gsub("/init$", ""):gsub("/", ".")
  for _, entry in ipairs(module and entries() or {}) do
    if entry.module == module and entry.line == info.linedefined then return entry end
  end
end

---Finds the entry of a method of a class: "dataset", "map".
---@param class string in lower case
---@param name string
---@return actor.help.Entry?
function M.member(class, name)
  for _, entry in ipairs(entries()) do
    if entry.owner == class and entry.name == name and entry.line then return entry end
  end
end

---Lists the names of a class's methods.
---@param class string in lower case
---@return string[]
function M.members(class)
  local found = {}
  for _, entry in ipairs(entries()) do
    if entry.owner == class and entry.line then found[entry.name] = true end
  end
  return util.sorted_keys(found)
end

---Returns the type of an entry's first return value: "actor.mapreduce.Dataset".
---@param entry? actor.help.Entry
---@return string?
function M.returned(entry)
  if entry and entry.returns then return entry.returns end
  for _, line in ipairs(entry and entry.text or {}) do
    local name = line:match("^@return ([%w_.?|]+)")
    if name then return name end
  end
end

---Lists the modules that scripts use, each with the first sentence of its docstring.
---@return {name: string, summary: string}[]
function M.topics()
  local topics = {}
  for _, entry in ipairs(entries()) do
    if entry.head and entry.module:find("^actor%.[^.]+$") then
      local text = table.concat(entry.text, " ")
      topics[#topics + 1] = { name = short(entry.module), summary = text:match("^(.-)[.:;] ") or text }
    end
  end
  return topics
end

return M
