--- Drops pushes of `r` or more versions of staleness, whatever the number of workers. This threshold on the delay is
--- the idea of Ringmaster ASGD; its abstract was read, but not its algorithm, so the rule does not have its name.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "stale",
  parameters = { { "r", "pushes" } },
  summary = "drops pushes that are R or more versions of the model old",
  definition = "u counts if version - version of u < r",
  paper = "after Maranjyan, Tyurin, Richtarik, Ringmaster ASGD, ICML 2025 (abstract)",
  example = "stale:8",
}

---@param r integer
---@return actor.merge.Rule
function M.make(r)
  return rules.new { run = function(_, push) return push.staleness < r and 1 or "drop" end }
end

return M
