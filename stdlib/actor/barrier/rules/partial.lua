--- A partial barrier: once the fraction `fraction` of the workers has completed the step, it opens at the knee of the
--- arrivals. The knee is a pause in the arrivals longer than mean + knee * deviation of the times between two arrivals,
--- both smoothed exponentially (as TCP estimates its timeout). Once the barrier is open, late workers pass at once.
---
--- The paper's barrier is entered once; here each step has a barrier. A single arrival has no knee yet: it waits for
--- another arrival. Without a knee the barrier opens at the fraction, as quorum does. No worker waits for ever: when
--- the last worker arrives, all have completed the step; and the others wait for a failed worker only until the knee.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "partial",
  parameters = { { "fraction", "fraction" }, { "knee", "factor", default = 4 } },
  summary = "waits for a FRACTION, then until arrivals pause (for KNEE deviations)",
  definition = "all have completed step, or a fraction of n has, and now - last arrival > mean + knee * deviation",
  paper = "Albrecht, Tuttle, Snoeren, Vahdat, Loose synchronization for large-scale networked systems, USENIX ATC 2006",
  example = "partial:0.5:4",
}

local newest = 0.25 -- weight of the newest gap between two arrivals

---@class actor.barrier.Round the arrivals at the barrier of one step
---@field count number
---@field last number time of the last arrival
---@field mean number seconds between two arrivals
---@field deviation number
---@field open boolean

local function arrive(round, time)
  local gap = time - round.last
  round.count, round.last = round.count + 1, time
  if round.count == 2 then
    round.mean, round.deviation = gap, gap / 2
  elseif round.count > 2 then
    local surprise = gap > round.mean and gap - round.mean or round.mean - gap
    round.deviation = round.deviation + newest * (surprise - round.deviation)
    round.mean = round.mean + newest * (gap - round.mean)
  end
end

-- Returns the barrier at the waiting worker's step. Drops the barriers of steps that all seen workers have passed.
local function round_at(view, state)
  local step = view.step
  local round = state.rounds[step]
  if round then return round end
  local least = view:min()
  while state.oldest < step and state.oldest < least do
    state.rounds[state.oldest] = nil
    state.oldest = state.oldest + 1
  end
  round = { count = 0, last = 0, mean = 0, deviation = 0, open = false }
  state.rounds[step] = round
  return round
end

---@param fraction number
---@param knee number
---@return actor.barrier.Rule
function M.make(fraction, knee)
  local self = rules.new { watches = "event", staleness = fraction == 1 and 0 or nil } -- waiting for all workers is bsp

  function self.run(view)
    local n, completed = view.n, view:passed(view.step)
    if completed >= n then return true end
    local state = view.shared[self] or rules.share(view, self, { rounds = {}, oldest = view.step, arrived = {} })
    local round = round_at(view, state)
    if state.arrived[view.id] ~= view.step then
      state.arrived[view.id] = view.step
      arrive(round, view.now - view.waited)
    end
    if round.open then return true end
    if round.count < 2 or completed < fraction * n - rules.rounding then return false end
    local left = round.last + round.mean + knee * round.deviation - view.now
    if left > rules.rounding then return false, left end
    round.open = true
    return true
  end

  return self
end

return M
