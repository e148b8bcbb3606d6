--- Weighs a push of t versions of staleness by alpha (1 + t) ^ -exponent. Without `pull`, where a push is the worker's
--- model, the weight mixes: w <- (1 - weight) w + weight u, as in the paper. Definition: the authors' code, with its
--- polynomial weight. Its local proximal steps belong to `push`.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "fedasync",
  parameters = {
    { "alpha", "fraction", default = 0.9 }, { "exponent", "factor", default = 0.5, high = 100 },
  },
  summary = "mixes a model that is t versions old with the weight ALPHA (1 + t) ^ -EXPONENT",
  definition = "w <- (1 - a) w + a u, a = alpha (1 + staleness) ^ -exponent",
  paper = "Xie, Koyejo, Gupta, Asynchronous federated optimization, arXiv 2019",
  example = "fedasync:0.9",
}

---@param alpha number
---@param exponent number
---@return actor.merge.Rule
function M.make(alpha, exponent)
  return rules.new { run = function(_, push) return alpha * (1 + push.staleness) ^ -exponent end }
end

return M
