--- Holds the pushes of a step until every live worker has pushed this step, and then merges their mean. This is `mean`
--- without a barrier at each step: under ssp, workers train on while the pushes of a step arrive. A step that is not
--- complete when the run ends is not merged.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "step_mean",
  parameters = {},
  summary = "merges the mean of each step's pushes, once all workers have pushed; for rules such as ssp",
  definition = "w <- pull(w, mean of the pushes of a step)",
  paper = "Douillard and others, Streaming DiLoCo with overlapping communication, arXiv 2025 (the overlap)",
  example = "step_mean",
}

---@return actor.merge.Rule
function M.make()
  return rules.new { run = function(view, push)
    local pushes, slowest, counts, chosen = view:with(push), view.slowest, {}, {}
    for _, one in ipairs(pushes) do
      if one.step < slowest then counts[one.step] = (counts[one.step] or 0) + 1 end
    end
    for _, one in ipairs(pushes) do chosen[one] = counts[one.step] and 1 / counts[one.step] end
    return next(chosen) and chosen or "hold"
  end }
end

return M
