--- A barrier rule is a callable value, `rule(view) -> pass`, with a name and a description of its dependencies.
local policy = require("actor.policy.rule")

---@class actor.barrier.Native
---@field kind "clock"|"free"|"sampled" clock: passes when min >= step - staleness; free: always passes; sampled: like clock, over samples
---@field staleness? integer
---@field beta? integer
---@field resample? "event"|"sticky"|{poll: number}

---@class actor.barrier.Rule: actor.policy.Rule
---@field run fun(view: actor.barrier.View): boolean, number?, integer?, integer? true, false, or false and seconds until the next evaluation (nil: none); with `watches` "worker" also the id and the step of a worker
---@field staleness? number the most steps that a passing worker may be ahead; 0 is BSP, nil means no bound
---@field watches "floor"|"event"|"timer"|"worker" dependencies of its result: the smallest clock, any completion, re-check times only; "worker": a `false` with a worker and a step holds until that worker has completed as many steps, a `false` without them until any completion
---@field resample? "event"|"sticky"|{poll: number} of a sampling rule
---@field policy_given? boolean the policy was set explicitly; else an engine may have another default
---@field native? actor.barrier.Native an equivalent for an evaluator in C++ (host/sim/admission.hpp)
---@overload fun(view: actor.barrier.View): boolean, number?

local M = policy.family("barrier rule", { watches = "event" }) -- any completion may change a function's result

-- Slack for shares of a count: a product that is whole in decimal may be slightly more in binary, as 0.07 * 100 > 7.
M.rounding = 1e-9

---Returns the earlier of two re-check times; either may be nil. A value other than a number is returned unchanged.
---@param seconds any
---@param other? number
---@return any
function M.sooner(seconds, other)
  if seconds == nil then return other end
  if type(seconds) == "number" and other ~= nil and seconds > other then return other end
  return seconds
end

---Stores the state of a rule about all workers. Returns the state: `view.shared[self] or rules.share(view, self, {})`.
---@param view actor.barrier.View
---@param rule actor.barrier.Rule
---@param state table
---@return table state
function M.share(view, rule, state)
  view.shared[rule] = state
  return state
end

return M
