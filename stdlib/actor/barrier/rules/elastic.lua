--- BSP with barriers where they cost least. At a barrier, when all workers have arrived, the rule predicts the finish
--- times of each worker's next `lookahead` steps from its average. It puts the next barrier where finish times, one of
--- each worker, are closest together (ZipLine: the narrowest window over all predicted times with one time of each
--- worker). Each worker runs to its own step of that barrier, so between two barriers fast workers make more steps, and
--- all workers make at least one.
---
--- Departures from the paper: the smoothed duration replaces its predictor; suspected and unmeasured workers get one
--- step and do not shift the window. A joining worker takes part with one step if no worker has reached the barrier
--- yet, and otherwise waits for the barrier. Clocks drift apart by up to lookahead - 1 steps from one barrier to the
--- next, so there is no bound on the lead. All workers share a plan; under a sample the plan covers the seen workers.
---
--- No worker waits for ever: a worker before its step passes, so all reach the barrier; failed workers are not seen.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "elastic",
  parameters = { { "lookahead", "steps", low = 1, high = 1000, default = 10 } },
  named = true,
  summary = "bsp with barriers where predicted waiting is least, within LOOKAHEAD steps",
  definition = "step < own step of the next barrier, or all workers have reached theirs (then it is planned anew)",
  paper = "Zhao, Papagelis, An, Chen, Liu, Hu, Elastic bulk synchronous parallel model for distributed deep learning, " ..
    "ICDM 2019; ZipLine: an optimized algorithm for the elastic bulk synchronous parallel model, Machine Learning 2021",
  example = "elastic:6",
}

---@class actor.barrier.Plan
---@field targets table<integer, integer> by worker id, the step where it stops
---@field at integer index of the last found worker before its step
---@field n integer the number of workers seen then
---@field stride integer for n workers: the distance between successively tried indices
---@field round? integer the batch of evaluations that last searched for a worker at its step
---@field arrived? boolean whether the search found a worker

-- Returns the predicted finishes of all workers with a known speed, in order of time, and the number of these workers.
local function predict(view, lookahead)
  local averages, busy, alive, started = view.averages, view.busy, view.alive, view.started
  local points, workers = {}, 0
  for i = 1, view.n do
    local average = averages[i]
    if average > 0 and alive[i] then
      local first = busy[i] and started[i] + average or view.now + average
      if first < view.now then first = view.now end
      for k = 1, lookahead do points[#points + 1] = { time = first + (k - 1) * average, index = i, ahead = k } end
      workers = workers + 1
    end
  end
  table.sort(points, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    if a.index ~= b.index then return a.index < b.index end
    return a.ahead < b.ahead
  end)
  return points, workers
end

-- Returns the first narrowest window of `points` that holds one of each worker.
local function narrowest(points, workers)
  local inside, missing, from = {}, workers, 1
  local best_from, best_to, width = 1, 0, math.huge
  for to = 1, #points do
    local index = points[to].index
    inside[index] = (inside[index] or 0) + 1
    if inside[index] == 1 then missing = missing - 1 end
    while inside[points[from].index] > 1 do
      inside[points[from].index] = inside[points[from].index] - 1
      from = from + 1
    end
    local apart = points[to].time - points[from].time
    if missing == 0 and apart < width - rules.rounding then best_from, best_to, width = from, to, apart end
  end
  return best_from, best_to
end

local function make_plan(view, plan, lookahead)
  local steps, ids = view.steps, view.ids
  plan.round = nil
  if view.n == view.population then plan.targets = {} end -- removes departed workers
  local targets = plan.targets
  for i = 1, view.n do targets[ids[i]] = steps[i] + 1 end
  local points, workers = predict(view, lookahead)
  local from, to = narrowest(points, workers)
  for p = from, to do targets[ids[points[p].index]] = steps[points[p].index] + points[p].ahead end
  if (targets[view.id] or 0) <= view.step then targets[view.id] = view.step + 1 end -- not in its own sample
end

local function divisor(a, b)
  while b > 0 do a, b = b, a % b end
  return a
end

-- Returns a stride that visits each of n workers once in n steps, from any start: about the golden section of n,
-- without a common factor with n.
local function stride_of(n)
  local stride = math.max(1, math.floor(n * 0.618))
  while divisor(n, stride) > 1 do stride = stride + 1 end
  return stride
end

-- Returns a seen worker before its step, and that step; the same worker as last time until it reaches its step. Waiting
-- workers are evaluated again when it does. Between two barriers that happens about log(n) times when workers arrive at
-- random, and thanks to the strides also when they arrive in the order of their ids.
local function next_arrival(view, plan)
  local n, steps, ids, targets = view.n, view.steps, view.ids, plan.targets
  if n ~= plan.n then plan.n, plan.stride = n, stride_of(n) end
  local i, stride = plan.at <= n and plan.at or 1, plan.stride
  for _ = 1, n do
    local id = ids[i]
    local target = targets[id]
    if target and steps[i] < target then
      plan.at = i
      return id, target
    end
    i = i + stride
    if i > n then i = i - n end
  end
end

local function has_arrival(view, plan)
  local steps, ids, targets = view.steps, view.ids, plan.targets
  for i = 1, view.n do
    local target = targets[ids[i]]
    if target and steps[i] >= target then return true end
  end
  return false
end

-- Returns the first stop of a worker that the plan lacks. Many such workers may arrive at one time: workers evaluated
-- in one call see the same clocks, and the steps given to earlier workers do not change the result of the search.
local function first_target(view, plan)
  if view.n < view.population or plan.round ~= view._round then
    plan.round, plan.arrived = view._round, has_arrival(view, plan)
  end
  return plan.arrived and view.step or view.step + 1
end

---@param lookahead integer
---@return actor.barrier.Rule
function M.make(lookahead)
  local self = rules.new { watches = "worker" }

  function self.run(view)
    local plan = view.shared[self] or rules.share(view, self, { targets = {}, at = 1, n = 0, stride = 1 })
    local id, step = view.id, view.step
    local target = plan.targets[id]
    if not target then
      target = first_target(view, plan)
      plan.targets[id] = target
    end
    if step < target then return true end
    local worker, target_step = next_arrival(view, plan)
    if worker then return false, nil, worker, target_step end
    make_plan(view, plan, lookahead)
    return true
  end

  return self
end

return M
