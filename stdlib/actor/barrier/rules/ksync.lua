--- Waits for the `k` workers that complete the step first; for all workers, if there are fewer than k. Every worker has
--- completed at least as many steps as the slowest, so the slowest passes.
---
--- In the paper the other workers abandon their step and start again from the new model. A barrier cannot cancel work:
--- here they finish the step late, and `param.merge.drop { later_than = 0 }` discards their pushes; with
--- `param.merge.all()` the pushes are merged, which is closer to the paper's K-async.
local rules = require("actor.barrier.rule")

---@type actor.barrier.Description
local M = {
  name = "ksync",
  parameters = { { "k", "workers", low = 1 } },
  summary = "waits for the K fastest; late pushes go to param.merge.drop",
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
