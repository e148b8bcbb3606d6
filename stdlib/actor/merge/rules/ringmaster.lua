--- Drops pushes of `r` or more versions of staleness; a dropped push is no update, and its worker begins again with the
--- present values. This is the form of Ringmaster ASGD without cancelled computations. Definition: a later draft of the
--- first author, and its code.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "ringmaster",
  parameters = { { "r", "pushes" } },
  summary = "drops pushes that are R or more versions of the model old",
  definition = "u counts if version - version of u < r",
  paper = "Maranjyan, Tyurin, Richtarik, Ringmaster ASGD, ICML 2025",
  example = "ringmaster:8",
}

---@param r integer
---@return actor.merge.Rule
function M.make(r)
  return rules.new { run = function(_, push) return push.staleness < r and 1 or "drop" end }
end

return M
