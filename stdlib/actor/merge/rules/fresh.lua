--- Merges the mean of every `b` pushes that began with the present version of the model, and drops all others.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "fresh",
  parameters = { { "b", "pushes" } },
  summary = "merges the mean of B pushes of the present version, and drops older pushes",
  definition = "w <- pull(w, mean of b pushes of this version)",
  paper = "none; Rennala SGD (Tyurin, Richtarik, NeurIPS 2023) is said to work so, and was not read",
  example = "fresh:4",
}

---@param b integer
---@return actor.merge.Rule
function M.make(b)
  return rules.new { run = function(view, push)
    if push.staleness > 0 then return "drop" end
    if #view.held + 1 < b then return "hold", 1 / b end
    return 1 / b
  end }
end

return M
