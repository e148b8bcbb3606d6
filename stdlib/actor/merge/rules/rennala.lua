--- Merges the mean of every `b` pushes that began with the present version of the model, and drops all others. A worker
--- may give several of the b pushes. Definition: a transcription of the paper's algorithm, and code of the authors'
--- group.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "rennala",
  parameters = { { "b", "pushes" } },
  summary = "merges the mean of B pushes of the present version, and drops older pushes",
  definition = "w <- pull(w, mean of b pushes of this version)",
  paper = "Tyurin, Richtarik, Optimal time complexities of parallel stochastic optimization methods, NeurIPS 2023",
  example = "rennala:4",
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
