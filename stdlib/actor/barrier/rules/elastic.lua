--- BSP with barriers where they cost least. At a barrier, when everybody has arrived, the finish times of each worker's next
--- `lookahead` steps are predicted from its average, and the next barrier is put where one finish of each worker lie closest
--- together (ZipLine: the narrowest window over all predicted times that holds one of each). Each worker runs to its own step
--- of that barrier, so fast ones make more steps than slow ones between two barriers, and everybody makes at least one.
---
--- Departures from the paper: its predictor is replaced by the smoothed duration; suspected workers and those not measured
--- yet are given one step and do not shift the window. A worker that joins takes part with one step if nobody has reached
--- the barrier yet, and otherwise waits for it. Clocks drift apart by up to lookahead - 1 steps from one barrier to the
--- next, so there is no bound on the lead. The plan is everybody's: under a sample it is made of whoever is seen.
---
--- Nobody waits for ever: who has not reached its step passes, so the barrier is reached, and lost workers are not seen.
local rules = require("actor.barrier.rule")

---@type actor.barrier.Description
local M = {
  name = "elastic",
  parameters = { { "lookahead", "steps", low = 1, high = 1000, default = 10 } },
  named = true,
  summary = "bsp whose barriers come where predicted waiting is least, within LOOKAHEAD steps",
  definition = "step < my step of the next barrier, or all have reached theirs (and then a new one is planned)",
  paper = "Zhao, Papagelis, An, Chen, Liu, Hu, Elastic bulk synchronous parallel model for distributed deep learning, " ..
    "ICDM 2019; ZipLine: an optimized algorithm for the elastic bulk synchronous parallel model, Machine Learning 2021",
  example = "elastic:6",
}

---@class actor.barrier.Plan
---@field targets table<integer, integer> by worker id, the step at which it stops
---@field at integer where the last worker was seen that has not got there

-- The predicted finishes of everybody whose speed is known, in order of time: the times and whose they are (indices).
local function predict(view, lookahead)
  local averages, busy, alive, started = view.averages, view.busy, view.alive, view.started
  local points, workers = {}, 0
  for i = 1, view.n do
    local average = averages[i]
    if average > 0 and alive[i] then
      local first = busy[i] and started[i] + average or view.now + average
      if first < view.now then first = view.now end
      for k = 1, lookahead do points[#points + 1] = { time = first + (k - 1) * average, who = i, ahead = k } end
      workers = workers + 1
    end
  end
  table.sort(points, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    if a.who ~= b.who then return a.who < b.who end
    return a.ahead < b.ahead
  end)
  return points, workers
end

-- The first narrowest window of `points` that holds one of each worker.
local function narrowest(points, workers)
  local inside, missing, from = {}, workers, 1
  local best_from, best_to, width = 1, 0, math.huge
  for to = 1, #points do
    local who = points[to].who
    inside[who] = (inside[who] or 0) + 1
    if inside[who] == 1 then missing = missing - 1 end
    while inside[points[from].who] > 1 do
      inside[points[from].who] = inside[points[from].who] - 1
      from = from + 1
    end
    local apart = points[to].time - points[from].time
    if missing == 0 and apart < width - rules.rounding then best_from, best_to, width = from, to, apart end
  end
  return best_from, best_to
end

local function make_plan(view, plan, lookahead)
  local steps, ids = view.steps, view.ids
  if view.n == view.population then plan.targets = {} end -- forgets those who have left
  local targets = plan.targets
  for i = 1, view.n do targets[ids[i]] = steps[i] + 1 end
  local points, workers = predict(view, lookahead)
  local from, to = narrowest(points, workers)
  for p = from, to do targets[ids[points[p].who]] = steps[points[p].who] + points[p].ahead end
  if (targets[view.id] or 0) <= view.step then targets[view.id] = view.step + 1 end -- it is not in its own sample
end

-- Whether a seen worker has yet to reach its step; looks first where there was one last time.
local function somebody_comes(view, plan)
  local n, steps, ids, targets = view.n, view.steps, view.ids, plan.targets
  local i = plan.at
  for _ = 1, n do
    if i > n then i = 1 end
    local target = targets[ids[i]]
    if target and steps[i] < target then
      plan.at = i
      return true
    end
    i = i + 1
  end
  return false
end

local function somebody_is_there(view, plan)
  local steps, ids, targets = view.steps, view.ids, plan.targets
  for i = 1, view.n do
    local target = targets[ids[i]]
    if target and steps[i] >= target then return true end
  end
  return false
end

---@param lookahead integer
---@return actor.barrier.Rule
function M.make(lookahead)
  local self = rules.new { watches = "event" }

  function self.run(view)
    local plan = view.shared[self]
    if not plan then
      plan = { targets = {}, at = 1 }
      view.shared[self] = plan
    end
    local id, step = view.id, view.step
    local target = plan.targets[id]
    if not target then
      target = somebody_is_there(view, plan) and step or step + 1
      plan.targets[id] = target
    end
    if step < target then return true end
    if somebody_comes(view, plan) then return false end
    make_plan(view, plan, lookahead)
    return true
  end

  return self
end

return M
