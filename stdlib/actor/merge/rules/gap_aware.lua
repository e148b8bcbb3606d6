--- Divides each element of a push by 1 + gap / C. The gap is the distance of the element between now and the begin of
--- the worker's step; C is the usual length of an update (root of a mean of squares with decay 0.999). Both count
--- updates before the optimiser, so the rule is exact for plain SGD with a constant learning rate, where the rate is a
--- factor of both. Keeps a sum of updates for each version in use. Definition: code of the authors' group.
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---@type actor.policy.Description
local M = {
  name = "gap_aware",
  parameters = {},
  summary = "divides each element by how far the model has moved since the step began",
  definition = "w <- pull(w, u / (1 + |moved since the step began| / C)), C = usual length of an update",
  paper = "Barkai, Hakimi, Schuster, Gap-aware mitigation of gradient staleness, ICLR 2020",
  example = "gap_aware",
}

local decay, epsilon = 0.999, 1e-8

local function root(x) return type(x) == "number" and math.sqrt(x) or x:sqrt() end

local function magnitude(x) return type(x) == "number" and math.abs(x) or x:abs() end

---@return actor.merge.Rule
function M.make()
  return rules.new { run = function(view, push)
    local memory, updated = view.memory, push.update
    local sums = memory.sums or { [view.version] = values.zeros(updated) } -- of all updates, by version
    local now, begun = sums[view.version], sums[push.version] or sums[view.version]
    if memory.squares then
      local bias = 1 - decay ^ memory.count
      updated = values.map(function(u, here, there, square)
        return u / (magnitude(here - there) / (root(square / bias) + epsilon) + 1)
      end, updated, now, begun, memory.squares)
    end
    local used = { [view.version + 1] = values.added(now, 1, updated), [view.version] = now }
    for _, step in ipairs(view:pending()) do used[step.version] = used[step.version] or sums[step.version] end
    local squares = values.map(function(u) return u * u end, updated)
    memory.squares = values.added(values.added(nil, decay, memory.squares), 1 - decay, squares)
    memory.sums, memory.count = used, (memory.count or 0) + 1
    return view:update({ push }, updated)
  end }
end

return M
