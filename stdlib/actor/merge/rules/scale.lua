--- Multiplies a push that is t steps behind the newest push by (1 + t) ^ -exponent.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "scale",
  parameters = { { "exponent", "factor", default = 1, high = 100 } },
  named = true,
  summary = "weighs a push t steps behind the newest by (1 + t) ^ -EXPONENT",
  definition = "w <- pull(w, (1 + t) ^ -exponent * u)",
  paper = "Xie, Koyejo, Gupta, Asynchronous federated optimization, arXiv 2019 (its polynomial weight, in steps)",
  example = "scale:0.5",
}

---@param exponent number
---@return actor.merge.Rule
function M.make(exponent)
  return rules.new { run = function(_, push) return (1 + push.behind) ^ -exponent end }
end

return M
