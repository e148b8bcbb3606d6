--- Merges the median of each element: of every `n` pushes, or of the pushes of a step under a BSP rule. Fewer than
--- half of these pushes may be wrong in any way.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "median",
  parameters = { { "n", "pushes", optional = true } },
  summary = "merges the median of each element, of a step or of N pushes",
  definition = "w <- pull(w, median of each element of n pushes)",
  paper = "Yin, Chen, Ramchandran, Bartlett, Byzantine-robust distributed learning, ICML 2018",
  example = "median:5",
}

---@param n? integer
---@return actor.merge.Rule
function M.make(n)
  return rules.new { bsp = not n, run = function(view, push)
    if not rules.collected(view, push, n) then return "hold" end
    local pushes = view:with(push)
    return view:trimmed_mean(pushes, math.floor((#pushes - 1) / 2))
  end }
end

return M
