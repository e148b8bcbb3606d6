--- Merges the mean of all pushes of a step when the barrier opens. This is synchronous training: an optimiser with a
--- state (momentum, Adam) makes one update for each step of all workers. Under BSP a function as `pull` receives the
--- pushes of a step together anyway.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "mean",
  parameters = {},
  summary = "merges the mean of each step's pushes; with bsp this is synchronous training",
  definition = "w <- pull(w, mean of the pushes of a step)",
  paper = "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, arXiv 2016",
  example = "mean",
}

---@return actor.merge.Rule
function M.make()
  local function run(_, push)
    local weight = 1 / push.peers
    if push.left > 0 then return "hold", weight end
    return weight
  end
  return rules.new { bsp = true, run = run }
end

return M
