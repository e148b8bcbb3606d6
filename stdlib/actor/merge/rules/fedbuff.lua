--- Holds pushes until `k` have arrived, and merges their mean, each multiplied by (1 + t) ^ -exponent for t versions
--- of staleness when it arrived. The authors' code, FLSim, computes the sum, and divides each weight by the weight of
--- an average staleness. Both change the update by a constant factor.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "fedbuff",
  parameters = { { "k", "pushes" }, { "exponent", "factor", default = 0.5, high = 100 } },
  summary = "merges the mean of every K pushes, each weighed by its staleness in versions",
  definition = "w <- pull(w, mean of k pushes (1 + staleness) ^ -exponent * u)",
  paper = "Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba, Federated learning with buffered asynchronous " ..
    "aggregation, AISTATS 2022",
  example = "fedbuff:8",
}

---@param k integer
---@param exponent number
---@return actor.merge.Rule
function M.make(k, exponent)
  return rules.new { run = function(view, push)
    local weight = (1 + push.staleness) ^ -exponent / k
    if #view.held + 1 < k then return "hold", weight end
    return weight
  end }
end

return M
