--- Merges, for each element, the mean of the pushes without the `f` smallest and the `f` greatest: of every `n`
--- pushes, or of the pushes of a step under a BSP rule. At most f of these pushes may be wrong in any way.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "trimmed_mean",
  parameters = { { "f", "workers" }, { "n", "pushes", optional = true } },
  summary = "leaves out the F smallest and greatest of each element, of a step or of N pushes",
  definition = "w <- pull(w, mean of the n - 2 f middle values of each element)",
  paper = "Yin, Chen, Ramchandran, Bartlett, Byzantine-robust distributed learning, ICML 2018",
  example = "trimmed_mean:1:5",
  check = function(f, n) return n and n <= 2 * f and ("n has to be more than 2 f, which is %d"):format(2 * f) or nil end,
}

---@param f integer
---@param n? integer
---@return actor.merge.Rule
function M.make(f, n)
  return rules.new { bsp = not n, run = function(view, push)
    if not rules.collected(view, push, n) then return "hold" end
    local pushes = view:with(push)
    return view:trimmed_mean(pushes, math.min(f, math.floor((#pushes - 1) / 2)))
  end }
end

return M
