--- Merges a push unchanged while its staleness is at most the number of workers, and divides it by its staleness above
--- that. The number of workers is the greatest number of steps in progress, the paper's tau_C. Definition: the paper,
--- section 4.4.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "delay_adaptive",
  parameters = {},
  summary = "divides a push older than the number of workers by its staleness in versions",
  definition = "w <- pull(w, u) if staleness <= workers, else pull(w, u / staleness)",
  paper = "Koloskova, Stich, Jaggi, Sharper convergence guarantees for asynchronous SGD, NeurIPS 2022",
  example = "delay_adaptive",
}

---@return actor.merge.Rule
function M.make()
  return rules.new { run = function(view, push)
    return push.staleness <= view.workers and 1 or 1 / push.staleness
  end }
end

return M
