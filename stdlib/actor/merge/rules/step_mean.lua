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
    if push.step >= view.slowest then return "hold" end
    local complete, chosen = {}, {}
    for _, one in ipairs(view:with(push)) do
      if one.step < view.slowest then complete[#complete + 1] = one end
    end
    for _, one in ipairs(complete) do chosen[one] = 1 / #complete end
    return chosen
  end }
end

return M
