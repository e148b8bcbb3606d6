--- Passes when at least the fraction `fraction` of the workers has completed `step - s` steps. quorum(1, s) is ssp(s),
--- and quorum(1) is bsp, which also merges in order. A sampled quorum is PSP's general form, a threshold on the
--- estimated share of workers that have passed a step. Every worker has completed at least as many steps as the
--- slowest, so the slowest passes.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "quorum",
  parameters = { { "fraction", "fraction" }, { "s", "steps", default = 0 } },
  summary = "waits until a FRACTION of the workers is within S steps",
  definition = "(number of workers that have completed step - s) >= fraction * n",
  paper = "Wang, Catterall, Mortier, Probabilistic synchronous parallel, arXiv 2017 (the threshold form)",
  example = "quorum:0.8:1",
}

---@param fraction number
---@param s integer
---@return actor.barrier.Rule
function M.make(fraction, s)
  local slack = rules.rounding
  local function run(view) return view.n - view:behind(s) >= fraction * view.n - slack end
  return rules.new { watches = "event", staleness = fraction == 1 and s or nil, run = run }
end

return M
