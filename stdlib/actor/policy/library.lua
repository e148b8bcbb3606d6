--- The rules of a family, each described by a file. Constructors, texts and lists are made from these descriptions.
local check = require("actor.check")
local parameters = require("actor.policy.parameter")

---@class actor.policy.Description
---@field name string
---@field parameters actor.policy.Parameter[] in the order of the text form and of `make`
---@field named? boolean the constructor takes the parameters by name, in a table
---@field samples? boolean the constructor takes {resample =} after the parameters, the text form @resample
---@field summary string one line
---@field definition string what the rule decides, as a formula
---@field paper string authors, title, venue, year
---@field example string a text that makes such a rule
---@field check? fun(...): string? the fault of the combination of parameters
---@field make fun(...): actor.policy.Rule receives checked parameters

---@class actor.policy.Library
---@field family actor.policy.Family
---@field rules table<string, actor.policy.Description>
local Library = {}
Library.__index = Library

local M = {}

---Loads the descriptions `folder`.NAME. `module` is the name of the module with the constructors: "barrier".
---@param module string
---@param family actor.policy.Family
---@param folder string
---@param order string[] the names, as lists show them
---@return actor.policy.Library
function M.new(module, family, folder, order)
  local self = setmetatable({ module = module, family = family, order = order, rules = {} }, Library)
  for _, name in ipairs(order) do self.rules[name] = require(folder .. "." .. name) end
  return self
end

---"quorum:FRACTION[:S]".
---@param description actor.policy.Description
---@return string
function Library.usage(_, description)
  local text = description.name
  for _, parameter in ipairs(description.parameters) do
    local word = ":" .. parameter[1]:upper()
    text = text .. (parameters.needed(parameter) and word or "[" .. word .. "]")
  end
  return text
end

---Returns the fault of a combination of individually valid parameters, or nil.
---@param description actor.policy.Description
---@param values any[]
---@return string?
function Library.complaint(_, description, values)
  return description.check and description.check(unpack(values, 1, #description.parameters))
end

---Makes a rule from checked parameters.
---@param description actor.policy.Description
---@param values any[] by position, nil where omitted
---@param options? table
---@return actor.policy.Rule
function Library.build(_, description, values, options)
  local n, shown = #description.parameters, {}
  values[n + 1] = options
  local rule = description.make(unpack(values, 1, n + 1))
  for i, parameter in ipairs(description.parameters) do
    if values[i] ~= nil then shown[#shown + 1] = parameters.shown(parameter, values[i]) end
  end
  rule.name = description.name .. (#shown > 0 and "(" .. table.concat(shown, ", ") .. ")" or "")
  return rule
end

local function by_position(description, named, fn)
  local kinds, values = {}, {}
  for i, parameter in ipairs(description.parameters) do
    kinds[parameter[1]] = parameters.needed(parameter) and "number" or "number?"
    values[i] = type(named) == "table" and named[parameter[1]] or nil
  end
  check.options(named, kinds, fn)
  return values
end

---Makes the public constructor, barrier.NAME.
---@param description actor.policy.Description
---@return fun(...): actor.policy.Rule
function Library:constructor(description)
  local fn, n = self.module .. "." .. description.name, #description.parameters
  return function(...)
    local given = description.named and by_position(description, ... or {}, fn) or { ... }
    local values = {}
    for i, parameter in ipairs(description.parameters) do
      values[i] = parameters.checked(parameter, given[i], fn, self.family)
    end
    local complaint = self:complaint(description, values)
    if complaint then check.fail("%s: %s", fn, complaint) end
    return self:build(description, values, description.samples and given[n + 1] or nil)
  end
end

---@class actor.policy.Listed
---@field name string
---@field usage string the text form: "pssp:BETA:S[@RESAMPLE]"
---@field summary string
---@field definition string
---@field paper string
---@field example string a text that makes such a rule

---Returns a line for each rule.
---@return actor.policy.Listed[]
function Library:list()
  local rows = {}
  for _, name in ipairs(self.order) do
    local rule = self.rules[name]
    rows[#rows + 1] = {
      name = name, usage = self:usage(rule) .. (rule.samples and "[@RESAMPLE]" or ""),
      summary = rule.summary, definition = rule.definition, paper = rule.paper, example = rule.example,
    }
  end
  return rows
end

return M
