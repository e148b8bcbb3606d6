--- bsp for a worker's first `steps` steps, asp afterwards. No worker waits for ever: the slowest passes under either.
---
--- The paper switches at a point found from earlier runs of a recurring job (here: `steps`). It has a second policy
--- that works asynchronously while a straggler lasts; for that policy see assp. This form switches each worker
--- separately. It guarantees no bound, so updates are merged as they arrive from the beginning. To merge the first
--- phase in order as under bsp, run `bsp` and call `param.set_barrier("asp")` in `stop` at the time of the switch.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "sync_switch",
  parameters = { { "steps", "steps" } },
  summary = "bsp for the first STEPS steps, asp afterwards",
  definition = "step >= steps or min >= step",
  paper = "Li, Mangoubi, Xu, Guo, Sync-Switch: hybrid parameter synchronization for distributed deep learning, ICDCS 2021",
  example = "sync_switch:5",
}

---@param steps integer
---@return actor.barrier.Rule
function M.make(steps)
  local function run(view) return view.step >= steps or view:min() >= view.step end
  return rules.new { watches = "floor", run = run }
end

return M
