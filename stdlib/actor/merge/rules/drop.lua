--- Drops pushes more than `later_than` steps behind the newest push. `later_than` 0 completes barrier.backup and
--- barrier.ksync.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "drop",
  parameters = { { "later_than", "steps" } },
  named = true,
  summary = "drops pushes more than LATER_THAN steps behind the newest; completes ksync and backup",
  definition = "u counts if its step >= newest - later_than",
  paper = "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, arXiv 2016",
  example = "drop:2",
}

---@param later_than integer
---@return actor.merge.Rule
function M.make(later_than)
  return rules.new { run = function(_, push) return push.behind > later_than and "drop" or 1 end }
end

return M
