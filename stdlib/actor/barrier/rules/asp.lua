--- No worker waits.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "asp",
  parameters = {},
  summary = "no worker waits",
  definition = "true",
  paper = "Recht, Re, Wright, Niu, Hogwild: a lock-free approach to parallelizing stochastic gradient descent, NIPS 2011",
  example = "asp",
}

---@return actor.barrier.Rule
function M.make()
  return rules.new { watches = "timer", native = { kind = "free" }, run = function() return true end }
end

return M
