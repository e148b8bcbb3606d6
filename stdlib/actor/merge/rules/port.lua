--- Merges the mean of every `k` pushes with weights from staleness and similarity. A push of t versions of staleness
--- has the weight bound / (bound + t) + (1 + cosine) / 2, where the cosine is that of the push and the model's last two
--- updates, or 1 for t <= 1. The weights are divided by their sum. Definition: the authors' code.
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---@type actor.policy.Description
local M = {
  name = "port",
  parameters = { { "k", "pushes" }, { "bound", "factor", default = 10 } },
  summary = "merges K pushes, weighed by staleness and by similarity to the last updates",
  definition = "w <- pull(w, weighted mean of k pushes), weight = bound / (bound + staleness) + (1 + cosine) / 2",
  paper = "Su, Li, How asynchronous can federated learning be?, IWQoS 2022",
  example = "port:4",
}

---@param k integer
---@param bound number
---@return actor.merge.Rule
function M.make(k, bound)
  return rules.new { run = function(view, push)
    local memory, last = view.memory, view.last
    if memory.version ~= view.version then
      memory.before, memory.latest, memory.version = memory.latest, last, view.version
    end
    local moved = last and values.added(last, 1, memory.before)
    local cosine = push.staleness > 1 and moved and push:cosine(moved) or 1
    push.likeness = bound / (bound + push.staleness) + (1 + cosine) / 2
    if #view.held + 1 < k then return "hold" end
    local pushes, sum, chosen = view:with(push), 0, {}
    for _, one in ipairs(pushes) do sum = sum + (one.likeness or 1) end
    for _, one in ipairs(pushes) do chosen[one] = (one.likeness or 1) / sum end
    return chosen
  end }
end

return M
