--- Passes when min(k, n) of the n workers have completed at least as many steps as this worker, so it waits for the
--- fastest k workers only. The slowest worker passes at once.
---
--- In the paper the other workers abandon their step and start again from the new model. A barrier cannot cancel work:
--- here these workers finish the step late, and the merge rule `drop:0` drops their pushes.
--- `all` merges their pushes, and so is closer to the paper's K-async.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "ksync",
  parameters = { { "k", "workers", low = 1 } },
  summary = "waits for the K fastest; late pushes go to the merge rule drop",
  definition = "(number of workers that have completed step) >= min(k, n)",
  paper = "Dutta, Joshi, Ghosh, Dube, Nagpurkar, Slow and stale gradients can win the race, AISTATS 2018",
  example = "ksync:3",
}

---@param k integer
---@return actor.barrier.Rule
function M.make(k)
  return rules.new {
    watches = "event",
    run = function(view) return view:passed(view.step) >= (k < view.n and k or view.n) end,
  }
end

return M
