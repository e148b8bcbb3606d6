--- Families of rules: barrier rules, merge rules. A rule is a callable value with a name.
local check = require("actor.check")

---@class actor.policy.Rule
---@field name string "ssp(4)", "rule.lua:halfway"
---@field run function
---@field where? string "rule.lua:3", where a user's function is defined

---@class actor.policy.Family
---@field noun string "barrier rule"
---@field new fun(fields: table): actor.policy.Rule
---@field is fun(value: any): boolean
---@field of fun(value: any, fn: string, name?: string): actor.policy.Rule returns a rule unchanged, or makes a rule from a function; `fn` is the called function, for the error message
---@field label fun(rule: actor.policy.Rule): string a rule's name for error messages: "barrier rule 'halfway' (rule.lua:3)"

local M = {}

---Makes a family of rules.
---@param noun string
---@param defaults table fields of a rule made from a function
---@return actor.policy.Family
function M.family(noun, defaults)
  local Rule = {}
  Rule.__index = Rule
  function Rule:__call(...) return self.run(...) end
  function Rule:__tostring() return self.name end

  local family = { noun = noun }
  function family.new(fields) return setmetatable(fields, Rule) end
  function family.is(value) return type(value) == "table" and getmetatable(value) == Rule end
  function family.of(value, fn, name)
    if family.is(value) then return value end
    if type(value) ~= "function" then check.wrong("rule", fn, "a rule or a function", value) end
    local info = debug.getinfo(value, "S")
    local where = info.short_src .. ":" .. info.linedefined
    local rule = family.new { name = name or where, run = value, where = where }
    for key, default in pairs(defaults) do rule[key] = default end
    return rule
  end
  function family.label(rule)
    local where = rule.where and rule.where ~= rule.name and " (" .. rule.where .. ")" or ""
    return noun .. " '" .. rule.name .. "'" .. where
  end
  return family
end

return M
