--- Shared by the specs of actor.barrier: workers at given steps, and the ids that a rule admits.
local barrier = require("actor.barrier")

local M = {}

---Makes workers at the given steps; `asks` lists the waiting workers (ids count from 0).
---@param steps integer[]
---@param asks integer[]
function M.cluster(steps, asks)
  local progress = barrier.progress()
  for i, step in ipairs(steps) do progress:add(i - 1, step) end
  for _, id in ipairs(asks) do assert(progress:ask(id, 0)) end
  return progress
end

---The ids of `asks` that are admitted at once, as text.
---@param rule table|fun(view: table): boolean
---@param steps integer[]
---@param asks integer[]
---@param seed integer?
---@return string
function M.passing(rule, steps, asks, seed)
  return table.concat(barrier.evaluator(rule, seed):poll(M.cluster(steps, asks), 0), " ")
end

return M
