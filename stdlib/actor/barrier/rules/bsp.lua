--- No worker continues before all workers have completed the step. The slowest worker is never behind another, so it
--- passes.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "bsp",
  parameters = {},
  summary = "no worker continues before all workers have completed the step",
  definition = "min >= step",
  paper = "Valiant, A bridging model for parallel computation, Communications of the ACM 1990",
  example = "bsp",
}

---@return actor.barrier.Rule
function M.make()
  local function run(view) return view:min() >= view.step end
  return rules.new { staleness = 0, watches = "floor", native = { kind = "clock", staleness = 0 }, run = run }
end

return M
