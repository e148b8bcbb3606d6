--- Like bsp, but no worker waits for the `k` slowest; backup(0) is bsp, which also merges in order. The slowest worker
--- never waits.
---
--- The paper also drops the gradients of the k slowest. Here a merge rule does so: `drop:0` completes this rule; with
--- `all` late pushes count like other pushes.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "backup",
  parameters = { { "k", "workers" } },
  summary = "does not wait for the K slowest; late pushes go to the merge rule drop",
  definition = "(number of workers that have not completed step) <= k",
  paper = "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, arXiv 2016",
  example = "backup:2",
}

---@param k integer
---@return actor.barrier.Rule
function M.make(k)
  local function run(view) return view:behind(0) <= k end
  return rules.new { watches = "event", staleness = k == 0 and 0 or nil, run = run }
end

return M
