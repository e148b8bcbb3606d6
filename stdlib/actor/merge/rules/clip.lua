--- Merges the mean of pushes, each scaled down to the norm `radius` if it is longer: of every `n` pushes, or of the
--- pushes of a step under a BSP rule. This is one iteration of centred clipping with its centre at 0 (definition:
--- ByzFL).
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "clip",
  parameters = { { "radius", "factor" }, { "n", "pushes", optional = true } },
  summary = "merges the mean of pushes, each cut to the norm RADIUS, of a step or of N pushes",
  definition = "w <- pull(w, mean of min(1, radius / |u|) u)",
  paper = "Karimireddy, He, Jaggi, Learning from history for Byzantine robust optimization, ICML 2021 (centre 0)",
  example = "clip:10:5",
}

---@param radius number
---@param n? integer
---@return actor.merge.Rule
function M.make(radius, n)
  return rules.new { bsp = not n, run = function(view, push)
    local norm = push:norm()
    local scale = norm > radius and radius / norm or norm == norm and norm < math.huge and 1 or 0
    local weight = scale / (n or push.peers)
    if not rules.collected(view, push, n) then return "hold", weight end
    return weight
  end }
end

return M
