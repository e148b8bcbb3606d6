--- Scales a push with a norm above `radius` down to this norm. Drops a push with an infinite norm or NaN. Definition: a
--- reproduction of the paper by others, with a constant radius and learning rate.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "clip",
  parameters = { { "radius", "factor" } },
  summary = "cuts each push to the norm RADIUS",
  definition = "w <- pull(w, min(1, radius / |u|) u)",
  paper = "Erickson, Johansson, Clipping makes distributed and federated asynchronous SGD robust to stragglers, " ..
    "arXiv 2026",
  example = "clip:10",
}

---@param radius number
---@return actor.merge.Rule
function M.make(radius)
  return rules.new { alone = true, run = function(_, push)
    local norm = push:norm()
    if norm ~= norm or norm == math.huge then return "drop" end
    return norm > radius and radius / norm or 1
  end }
end

return M
