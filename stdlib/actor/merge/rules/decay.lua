--- Multiplies a push of t versions of staleness by e ^ (-rate t), and drops it from the staleness `cutoff` on. The
--- authors' code of FedAsync has such a weight. CGAD has an exponential with a smooth cutoff; its shape could not be
--- read, so the rule does not have its name.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "decay",
  parameters = { { "rate", "factor" }, { "cutoff", "pushes", optional = true } },
  summary = "weighs a push that is t versions old by e ^ (-RATE t), and drops it from CUTOFF on",
  definition = "w <- pull(w, e ^ (-rate staleness) u) if staleness < cutoff",
  paper = "Xie, Koyejo, Gupta, Asynchronous federated optimization, arXiv 2019 (code: exponential weight)",
  example = "decay:0.1:20",
}

---@param rate number
---@param cutoff? integer
---@return actor.merge.Rule
function M.make(rate, cutoff)
  return rules.new { run = function(_, push)
    if cutoff and push.staleness >= cutoff then return "drop" end
    return math.exp(-rate * push.staleness)
  end }
end

return M
