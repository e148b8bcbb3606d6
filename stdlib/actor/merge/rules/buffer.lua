--- Holds pushes until `k` have arrived, and then merges their mean. With barrier.asp this is the buffered asynchronous
--- aggregation of the paper, without its weights for stale pushes.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "buffer",
  parameters = { { "k", "pushes" } },
  named = true,
  summary = "merges the mean of every K pushes",
  definition = "w <- pull(w, mean of k pushes)",
  paper = "Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba, Federated learning with buffered asynchronous " ..
    "aggregation, AISTATS 2022",
  example = "buffer:8",
}

---@param k integer
---@return actor.merge.Rule
function M.make(k)
  local weight = 1 / k
  local function run(view)
    if #view.held + 1 < k then return "hold", weight end
    return weight
  end
  return rules.new { run = run }
end

return M
