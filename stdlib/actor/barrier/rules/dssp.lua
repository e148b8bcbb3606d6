--- SSP with a threshold that is chosen at run time. A worker within `lower` steps of the slowest passes. One that is
--- further ahead looks how its next finish times and those of the slowest would fall, from the latest duration of each,
--- and goes on if making r > 0 further steps, up to `upper` ahead, would bring it closer to a finish of the slowest than
--- stopping now. When it stops it waits until it is within `lower` again.
---
--- Departures from the paper. There the controller's r is kept and only the fastest worker may ask for it; here everybody
--- may, and it is found anew at each step, which gives the same r as long as speeds last and better ones when they change.
--- There a new r may be granted on top of the last, and the lead can outgrow the range; here nobody passes with more than
--- `upper`. Durations are of the work alone, there of the whole interval between two pushes. Until the worker and the
--- slowest have both been measured the threshold is `lower`.
---
--- The slowest worker's lead is 0, so it always passes; so does anybody else when the slowest has come near enough.
local rules = require("actor.barrier.rule")

---@type actor.barrier.Description
local M = {
  name = "dssp",
  parameters = { { "lower", "steps" }, { "upper", "steps" } },
  named = true,
  summary = "ssp with a threshold from LOWER to UPPER, chosen from recent durations",
  definition = "min >= step - lower, or min >= step - upper and r > 0 minimises |finish(step + r) - a finish of the slowest|",
  paper = "Zhao, An, Liu, Chen, Dynamic stale synchronous parallel distributed training for deep learning, ICDCS 2019",
  example = "dssp:1:6",
}

function M.check(lower, upper)
  if upper < lower then return ("upper has to be at least lower, which is %d, not %d"):format(lower, upper) end
end

-- When the smallest clock will move, and by how many seconds after that again: the last of those who hold it back.
-- No interval when one of them has not been measured.
local function slowest(view)
  local steps, busy, started, durations, least = view.steps, view.busy, view.started, view.durations, view:min()
  local finish, interval = 0, nil
  for i = 1, view.n do
    if steps[i] == least then
      local duration = durations[i]
      if duration == 0 then return 0, nil end
      local expected = view.now + duration
      if busy[i] then
        expected = started[i] + duration
        if expected < view.now then expected = view.now end
      end
      if expected > finish then finish, interval = expected, duration end
    end
  end
  return finish, interval
end

-- How many steps from now, up to `most`, the worker would finish nearest to a finish of the slowest.
local function best_extra(view, most)
  local mine = view.duration
  local finish, interval = slowest(view)
  if mine == 0 or not interval then return 0 end
  local best, least = 0, math.huge
  for r = 0, most do
    local time = view.now + r * mine
    while finish + interval <= time do finish = finish + interval end -- the slowest's last finish by then
    local before, after = time - finish, finish + interval - time
    if before < 0 then before = -before end
    local apart = before < after and before or after
    if apart < least - rules.rounding then best, least = r, apart end
  end
  return best
end

---@param lower integer
---@param upper integer
---@return actor.barrier.Rule
function M.make(lower, upper)
  return rules.new {
    staleness = upper, watches = "floor",
    run = function(view)
      local lead = view.step - view:min()
      if lead <= lower then return true end
      local memory = view.memory
      if memory.stopped then return false end
      if lead <= upper and best_extra(view, upper - lead + 1) > 0 then return true end
      memory.stopped = true
      return false
    end,
  }
end

return M
