--- SSP with a threshold chosen at run time. A worker within `lower` steps of the slowest passes. A worker further ahead
--- predicts its next finish times and the slowest worker's, from the latest duration of each. It continues if r > 0
--- further steps, up to `upper` ahead, bring it closer to a finish of the slowest than stopping now. A stopped worker
--- waits until it is within `lower` again.
---
--- Departures from the paper. In the paper the controller stores r, and only the fastest worker may request it. Here
--- every worker may, and r is computed at each step; this gives the same r while speeds last and a better r when they
--- change. In the paper a new r may be granted on top of the last, so the lead can exceed the range; here no worker
--- passes with a lead above `upper`. Durations cover the work alone; in the paper they cover the whole interval between
--- two pushes. Until the worker and the slowest have both been measured, the threshold is `lower`.
---
--- The slowest worker's lead is 0, so it always passes; every other worker passes when the slowest is near enough.
local assp = require("actor.barrier.rules.assp")
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "dssp",
  parameters = assp.parameters,
  named = true,
  summary = "ssp with a threshold from LOWER to UPPER, chosen from recent durations",
  definition = "min >= step - lower, or min >= step - upper and r > 0 minimises |finish(step + r) - a finish of the slowest|",
  paper = "Zhao, An, Liu, Chen, Dynamic stale synchronous parallel distributed training for deep learning, ICDCS 2019",
  example = "dssp:1:6",
  check = assp.check,
}

-- Returns when the i-th worker will complete its step.
local function expected(view, i)
  local finish = (view.busy[i] and view.started[i] or view.now) + view.durations[i]
  return finish > view.now and finish or view.now
end

-- Returns when the smallest clock will move, how many seconds later it will move again, and which worker moves it: the
-- last of the workers at that clock. The interval is 0 when one of these workers has not been measured. (Each loop
-- computes one value: the JIT does not compile a loop with two.)
local function slowest(view)
  local steps, durations, least, finish = view.steps, view.durations, view:min(), 0
  for i = 1, view.n do
    if steps[i] == least then
      if durations[i] == 0 then return 0, 0, 0 end
      local at = expected(view, i)
      if at > finish then finish = at end
    end
  end
  for i = 1, view.n do
    if steps[i] == least and expected(view, i) == finish then return finish, durations[i], i end
  end
  return 0, 0, 0
end

-- Like `slowest`, but computed again only when that worker has completed its step. Until then no worker at the smallest
-- clock is expected later; when that worker is overdue, so are all others, and all are expected at once.
local function slowest_known(view, state)
  local i, least = state.last, view:min()
  local same = i > 0 and i <= view.n and view.n == view.population and state.least == least
    and view.ids[i] == state.id and view.steps[i] == least
  if not same then
    state.finish, state.interval, state.last = slowest(view)
    state.least, state.id = least, state.last > 0 and view.ids[state.last] or -1
  end
  return state.finish > view.now and state.finish or view.now, state.interval
end

-- Returns how many steps from now, up to `most`, the worker would finish nearest to a finish of the slowest.
local function best_extra(view, state, most)
  local mine = view.duration
  local finish, interval = slowest_known(view, state)
  if mine == 0 or interval == 0 then return 0 end
  local best, least = 0, math.huge
  for r = 0, most do
    local time = view.now + r * mine
    while finish + interval <= time do finish = finish + interval end -- the slowest worker's last finish by that time
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
  local self = rules.new { staleness = upper, watches = "floor" }

  function self.run(view)
    local lead = view.step - view:min()
    if lead <= lower then return true end
    local memory = view.memory
    if memory.stopped then return false end
    local state = view.shared[self]
      or rules.share(view, self, { finish = 0, interval = 0, last = 0, least = -1, id = -1 })
    if lead <= upper and best_extra(view, state, upper - lead + 1) > 0 then return true end
    memory.stopped = true
    return false
  end

  return self
end

return M
