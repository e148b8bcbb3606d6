--- All barrier rules; each file in rules/ describes one rule. Constructors, texts and lists are made from these
--- descriptions. To add a rule, write its file and add its name here.
local check = require("actor.check")
local merge = require("actor.barrier.merge")
local parameters = require("actor.barrier.parameter")

---@class actor.barrier.Description
---@field name string
---@field parameters actor.barrier.Parameter[] in the order of the text form and of `make`
---@field named? boolean the constructor takes the parameters by name, in a table
---@field samples? boolean the constructor takes {resample =} after the parameters, the text form @resample
---@field summary string one line
---@field definition string when a worker passes
---@field paper string authors, title, venue, year
---@field example string a text that makes such a rule
---@field check? fun(...): string? the fault of the combination of parameters
---@field make fun(...): actor.barrier.Rule receives checked parameters

-- From the classic rules to rules that measure and predict.
local order = {
  "bsp", "ssp", "asp", "pbsp", "pssp", "sample", "quorum", "ksync", "backup", "partial", "delay_bounded", "dssp", "assp",
  "elastic", "gssp", "awpsp", "sync_switch",
}

local M = {}

---@type table<string, actor.barrier.Description>
M.rules = {}
for _, name in ipairs(order) do M.rules[name] = require("actor.barrier.rules." .. name) end

---"quorum:FRACTION[:S]".
---@param description actor.barrier.Description
---@return string
function M.usage(description)
  local text = description.name
  for _, parameter in ipairs(description.parameters) do
    local word = ":" .. parameter[1]:upper()
    text = text .. (parameters.needed(parameter) and word or "[" .. word .. "]")
  end
  return text
end

---Returns the fault of a combination of individually valid parameters, or nil.
---@param description actor.barrier.Description
---@param values any[]
---@return string?
function M.complaint(description, values)
  return description.check and description.check(unpack(values, 1, #description.parameters))
end

---Makes a rule from checked parameters.
---@param description actor.barrier.Description
---@param values any[] by position, nil where omitted
---@param options? table
---@return actor.barrier.Rule
function M.build(description, values, options)
  local n, shown = #description.parameters, {}
  values[n + 1] = options
  local rule = description.make(unpack(values, 1, n + 1))
  for i, parameter in ipairs(description.parameters) do
    if values[i] ~= nil then shown[#shown + 1] = parameters.shown(parameter, values[i]) end
  end
  rule.name = n == 0 and description.name or ("%s(%s)"):format(description.name, table.concat(shown, ", "))
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
---@param description actor.barrier.Description
---@return fun(...): actor.barrier.Rule
function M.constructor(description)
  local fn, n = "barrier." .. description.name, #description.parameters
  return function(...)
    local given = description.named and by_position(description, ... or {}, fn) or { ... }
    local values = {}
    for i, parameter in ipairs(description.parameters) do values[i] = parameters.checked(parameter, given[i], fn) end
    local complaint = M.complaint(description, values)
    if complaint then check.fail("%s: %s", fn, complaint) end
    return M.build(description, values, description.samples and given[n + 1] or nil)
  end
end

---@class actor.barrier.Listed
---@field kind "rule"|"merge"
---@field name string
---@field usage string the text or call form: "pssp:BETA:S[@RESAMPLE]", "param.merge.drop{later_than=STEPS}"
---@field summary string
---@field definition string
---@field paper string
---@field example? string of rules: a text that makes such a rule

---Returns all rules, and then the merge policies, as lines of a list.
---@return actor.barrier.Listed[]
function M.list()
  local rows = {}
  for _, name in ipairs(order) do
    local rule = M.rules[name]
    rows[#rows + 1] = {
      kind = "rule", name = name, usage = M.usage(rule) .. (rule.samples and "[@RESAMPLE]" or ""), summary = rule.summary,
      definition = rule.definition, paper = rule.paper, example = rule.example,
    }
  end
  for _, policy in ipairs(merge.policies) do
    rows[#rows + 1] = {
      kind = "merge", name = policy.name, usage = policy.usage, summary = policy.summary, definition = policy.definition,
      paper = policy.paper,
    }
  end
  return rows
end

return M
