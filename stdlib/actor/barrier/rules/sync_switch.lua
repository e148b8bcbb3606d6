--- bsp for a worker's first `steps` steps, asp afterwards. No worker waits for ever: the slowest passes under either.
---
--- The paper switches at a point found from earlier runs of a recurring job (here: `steps`), and has a second policy that
--- works asynchronously while a straggler lasts; for that one see assp. This form switches each worker by itself. It
--- promises no bound, so updates are merged as they come from the beginning. To merge those of the first phase in order
--- as under bsp, run `bsp` and call `param.set_barrier("asp")` in `stop` when the time has come.
local rules = require("actor.barrier.rule")

---@type actor.barrier.Description
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
  return rules.new {
    watches = "floor",
    run = function(view)
      return view.step >= steps or view:min() >= view.step
    end,
  }
end

return M
