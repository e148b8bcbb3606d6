--- Finds docstrings by name, for `actorhost help NAME` and the console's `:help`. The docstrings are the LuaCATS
--- comments of the embedded standard library, so an editor and these commands show the same text.
local check = require("actor.check")
local core = require("actor.c.core")
local docstrings = require("actor.help.docstrings")
local flags = require("actor.flags")
local util = require("actor.util")

---@class actor.help
local M = {}

local function short(module) return (module:gsub("^actor%.", "")) end

local all
local by_name = {} ---@type table<string, actor.help.Entry[]> by the name in lower case

-- All entries of the library, in the order of the files' names.
local function entries()
  if all then return all end
  all = {}
  for module in util.pairs(core.library()) do
    if module:find("^actor") then
      docstrings.read(module, core.library_text(module), all)
    end
  end
  for _, entry in ipairs(all) do
    local key = entry.name:lower()
    by_name[key] = by_name[key] or {}
    table.insert(by_name[key], entry)
  end
  return all
end

-- The entries with a name, in any case.
local function named(name)
  entries()
  return by_name[name:lower()] or {}
end

---Lists all entries of the library.
---@return actor.help.Entry[]
function M.all() return util.joined(entries()) end

local function within(module, path)
  return module == path or module:sub(1, #path + 1) == path .. "."
end

-- Adds to `found` the entries named `name` in a module and below it. If the module has `name` as an alias, adds only
-- the alias's target.
local function collect(found, module, owner, name)
  local fitting = {}
  for _, entry in ipairs(named(name)) do
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

-- Names that scripts give modules and objects.
local local_names = { mr = "mapreduce", co = "collective", net = "network" }

-- The classes and aliases with a name, "param.StopContext", or with its last part, "StopContext" or "view".
local function types_of(name)
  local found = {}
  for _, entry in ipairs(named(name:match("[%w_]*$"))) do
    if entry.type and (entry.type == "actor." .. name or entry.name:lower() == name:lower()) then
      found[#found + 1] = entry
    end
  end
  return found
end

-- If `found` has the comment at the head of the module `name`, returns this entry with the titles of the module's other
-- entries as `related`, and the entry of the function if the module is a function. Otherwise returns all of `found`.
local function of_module(found, name)
  for _, entry in ipairs(found) do
    if entry.head and entry.module == "actor." .. name then
      local related, itself = {}, nil
      for _, other in ipairs(found) do
        if other ~= entry and other.module == entry.module and not other.type and not other.class then
          itself = other
        elseif other ~= entry and not other.class and not other.type then
          related[#related + 1] = other.title:match("^[^(]+")
        end
      end
      return { setmetatable({ related = related }, { __index = entry }), itself }
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
  if not path or not path:find("[%w_]$") then return of_module(util.joined(collect({}, "actor", nil, name), types_of(name)), name) end
  path = local_names[path] or path
  local found = collect({}, "actor." .. path, path:match("[%w_]+$"):lower(), last)
  for i, entry in ipairs(found) do
    -- Scripts call a function of an inner file by the module's name: mapreduce.load, not mapreduce.files.load.
    local arguments = (not entry.owner or entry.owner == "methods") and entry.title:match("%b()$")
    if arguments then found[i] = setmetatable({ title = path .. "." .. last .. arguments }, { __index = entry }) end
  end
  return util.joined(found, types_of(name))
end

---The class of a parameter that is a table of options, so that its fields are shown; nil for other parameters.
---@param name? string of the parameter
---@param type string
---@return string?
function M.options_class(name, type)
  local is_table = name == "options" or name == "run" or name == "train" or name == "o"
  return is_table and type:match("^actor%.[%w_.]+") or nil
end

---Lists the entries of a class's fields, then those of the classes that it extends.
---@param class string "actor.param.Run"
---@return actor.help.Entry[]
function M.fields(class)
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
  for _, entry in ipairs(M.fields(class)) do
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
    local parameter, type = line:match("^@param ([%w_]+)%?? (.*)$")
    local class = parameter and M.options_class(parameter, type)
    if class then add_fields(lines, class, "      ") end
  end
  if entry.type then
    add_fields(lines, entry.type, "    ")
    local methods = methods_of(entry.name:lower())
    if #methods > 0 then lines[#lines + 1] = "  " .. flags.wrapped(table.concat(methods, " "), 97, 2) end
  end
  for _, example in ipairs(entry.examples or {}) do
    lines[#lines + 1] = example.nodes and ("  example, with %d nodes:"):format(example.nodes) or "  example:"
    for line in (example.code .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = "      " .. line end
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

-- Replaces the C modules of nodes while the help loads a module outside of a node.
local absent = setmetatable({}, { __index = function() return function() end end })

-- The value of a module; nil if the module cannot be loaded here. Outside of a node a module may lack C modules.
local function value_of(module)
  local replaced = {}
  for name in core.library_text(module):gmatch('require%("(actor%.c%.[%w_]+)"%)') do
    if not package.preload[name] and not package.loaded[name] then
      package.loaded[name] = absent
      replaced[#replaced + 1] = name
    end
  end
  local loaded, value = pcall(require, module)
  for _, name in ipairs(replaced) do package.loaded[name] = nil end
  return loaded and type(value) == "table" and value or nil
end

---Lists the names that a module offers: its functions, "param.get", then the methods of its objects, "dataset:map".
---@param module string "actor.param"
---@return string[]
function M.contents(module)
  local found = {}
  for name, member in pairs(value_of(module) or {}) do
    if type(member) == "function" then found[short(module) .. "." .. name] = true end
  end
  for _, entry in ipairs(entries()) do
    if entry.inner or entry.head then
      -- no name of its own
    elseif entry.module == module and not entry.owner then
      found[entry.title:match("^[%w_.]+")] = true
    elseif docstrings.objects[entry.owner] and module ~= "actor" and within(entry.module, module) then
      found[entry.owner .. ":" .. entry.name] = true
    end
  end
  return util.sorted_keys(found)
end

---@class actor.help.Listed
---@field name string "param.run", "dataset:map"
---@field title string "param.run(run)"
---@field entry actor.help.Entry
---@field aliases string[] further names

-- Chooses the entry that describes a name. Prefers entries with an example; among these, a method for the name of a
-- method ("dataset:map") and a function for any other name.
local function described(name)
  local found, best, most = M.find(name), nil, -1
  for _, entry in ipairs(found) do
    local is_method = entry.title:find(":", 1, true) ~= nil
    local points = (#entry.examples > 0 and 2 or 0) + (is_method == (name:find(":", 1, true) ~= nil) and 1 or 0)
    if points > most then best, most = entry, points end
  end
  return best
end

---Lists the functions and methods of a module that have an example, and its one-line functions, as scripts call them,
---each once: from `contents`, from the module's tables ("barrier.ssp"), and the layers of chains ("node:conv2d").
---@param module string "actor.param"
---@return actor.help.Listed[]
function M.listing(module)
  local listed, seen = {}, {}
  local function add(name, title, entry)
    if not entry or entry.head or not (entry.class or #entry.examples > 0) then return end
    local key = entry.module .. ":" .. entry.line
    if seen[key] then
      table.insert(seen[key].aliases, name)
      return
    end
    seen[key] = { name = name, title = title or entry.title, entry = entry, aliases = {} }
    listed[#listed + 1] = seen[key]
  end
  for _, own in ipairs { true, false } do -- names of their definitions first, then others
    for _, name in ipairs(M.contents(module)) do
      local entry = described(name)
      if entry and within(entry.module, module) and (entry.name == name:match("[%w_]+$")) == own then
        add(name, not name:find(":", 1, true) and name .. (entry.title:match("%b()$") or ""), entry)
      end
    end
  end
  for key, member in util.pairs(value_of(module) or {}) do
    for name, inner in util.pairs(type(member) == "table" and member or {}) do
      local full = ("%s.%s.%s"):format(short(module), key, name)
      local entry = type(inner) == "function" and described(full)
      if entry and #entry.examples > 0 then add(full, full .. (entry.title:match("%b()$") or ""), entry) end
    end
  end
  for _, entry in ipairs(entries()) do
    local inner = module ~= "actor" and #entry.examples > 0 and entry.module:match("^" .. module .. "%.([%w_]+)")
    if inner then
      local arguments = entry.title:match("%b()$") or ""
      local of_chain = arguments:match("^%(s[eh][la][fp]e?,? ?(.*)$") -- (self, ...) or (shape, ...)
      if entry.module:find("%.layers%.") and arguments == "" then of_chain = "options)" end
      if of_chain then add("node:" .. entry.name, "node:" .. entry.name .. "(" .. of_chain, entry) end
      local full = ("%s.%s.%s"):format(short(module), inner, entry.name)
      local found, member = pcall(function() return value_of(module)[inner][entry.name] end) -- loads a module of sim
      if found and type(member) == "function" then add(full, full .. arguments, entry) end
    end
  end
  table.sort(listed, function(a, b)
    local a_is_method, b_is_method = a.name:find(":", 1, true) ~= nil, b.name:find(":", 1, true) ~= nil
    if a_is_method ~= b_is_method then return b_is_method end
    return a.name < b.name
  end)
  return listed
end

---Lists all documented names, without their modules, for suggestions.
---@return string[]
function M.names()
  local names = {}
  for _, entry in ipairs(entries()) do names[#names + 1] = entry.name end
  return names
end

local function is_function(entry) return not (entry.class or entry.type or entry.target or entry.head) end

---Finds the entry of a function of the library.
---@param fn function
---@return actor.help.Entry?
function M.of_function(fn)
  local info = debug.getinfo(fn, "S")
  local module = info.source:match("^@stdlib/(.*)%.lua$")
  module = module and module:gsub("/init$", ""):gsub("/", ".")
  for _, entry in ipairs(module and entries() or {}) do
    if entry.module == module and is_function(entry) and entry.line == info.linedefined then return entry end
  end
end

---Finds the entry of a method of a class: "dataset", "map".
---@param class string in lower case
---@param name string
---@return actor.help.Entry?
function M.member(class, name)
  for _, entry in ipairs(entries()) do
    if entry.owner == class and entry.name == name and is_function(entry) then return entry end
  end
end

---Lists the names of a class's methods.
---@param class string in lower case
---@return string[]
function M.members(class)
  local found = {}
  for _, entry in ipairs(entries()) do
    if entry.owner == class and is_function(entry) then found[entry.name] = true end
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
