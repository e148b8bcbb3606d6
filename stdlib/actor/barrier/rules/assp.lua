--- SSP with a staleness bound that follows the measured speeds of the workers. Let r be the average step duration of
--- the slowest worker divided by the average step duration of the fastest worker, rounded. The staleness bound is
--- r - 1, limited to `lower` .. `upper`. Workers of equal speed stay close together, which costs little; in a mixed
--- cluster fast workers may move ahead. Suspected workers, and workers without a measured step, do not count. If no
--- worker has a measured step, the staleness bound is `lower`. The rule computes it anew when the minimum clock rises.
--- A worker at the minimum clock always passes.
---
--- This rule is not from a paper. ABS and DSSP also choose the staleness at run time: ABS by a bound on convergence,
--- DSSP for each worker.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "assp",
  parameters = { { "lower", "steps" }, { "upper", "steps" } },
  named = true,
  summary = "ssp with a bound from LOWER to UPPER that follows the spread of speeds",
  definition = "min >= step - s, where s = round(slowest average / fastest average) - 1 within lower .. upper",
  paper = "none; in the manner of Zhao et al. 2019 (dssp) and of Tan, Zhu, Zhang, Adaptive bounded staleness, arXiv 2023",
  example = "assp:0:6",
}

function M.check(lower, upper)
  if upper < lower then return ("upper has to be at least lower, which is %d, not %d"):format(lower, upper) end
end

-- The staleness bound.
local function bound(view, lower, upper)
  local averages, alive = view.averages, view.alive
  local fastest, slowest = math.huge, 0
  for i = 1, view.n do
    local average = averages[i]
    if average > 0 and alive[i] then
      if average < fastest then fastest = average end
      if average > slowest then slowest = average end
    end
  end
  if slowest == 0 then return lower end
  local s = math.floor(slowest / fastest + 0.5) - 1
  return s < lower and lower or s > upper and upper or s
end

---@param lower integer
---@param upper integer
---@return actor.barrier.Rule
function M.make(lower, upper)
  local self = rules.new { staleness = upper, watches = "floor" }

  function self.run(view)
    local least, step = view:min(), view.step
    if least >= step - lower then return true end
    if least < step - upper then return false end
    local state = view.shared[self] or rules.share(view, self, { least = -1, s = lower })
    if state.least ~= least then state.least, state.s = least, bound(view, lower, upper) end
    return least >= step - state.s
  end

  return self
end

return M
