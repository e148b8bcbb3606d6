--- Shared by the specs of actor.barrier: workers at given steps, and the ids that a rule admits.
local barrier = require("actor.barrier")

local M = {}

---Makes workers at the given steps; `requesters` lists the waiting workers (ids count from 0).
---@param steps integer[]
---@param requesters integer[]
function M.cluster(steps, requesters)
  local progress = barrier.progress()
  for i, step in ipairs(steps) do progress:add(i - 1, step) end
  for _, id in ipairs(requesters) do assert(progress:request(id, 0)) end
  return progress
end

---The ids of `requesters` that are admitted at once, as text.
---@param rule table|fun(view: table): boolean
---@param steps integer[]
---@param requesters integer[]
---@param seed integer?
---@return string
function M.passing(rule, steps, requesters, seed)
  return table.concat(barrier.evaluator(rule, seed):poll(M.cluster(steps, requesters), 0), " ")
end

return M
