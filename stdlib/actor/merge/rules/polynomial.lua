--- Multiplies a push of t versions of staleness by (1 + t) ^ -exponent.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "polynomial",
  parameters = { { "exponent", "factor", default = 0.5, high = 100 } },
  summary = "weighs a push that is t versions old by (1 + t) ^ -EXPONENT",
  definition = "w <- pull(w, (1 + staleness) ^ -exponent * u)",
  paper = "FLSim (Meta), PolynomialStalenessWeight, for asynchronous federated learning",
  example = "polynomial:0.5",
}

---@param exponent number
---@return actor.merge.Rule
function M.make(exponent)
  return rules.new { run = function(_, push) return (1 + push.staleness) ^ -exponent end }
end

return M
