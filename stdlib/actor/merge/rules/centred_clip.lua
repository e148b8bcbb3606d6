--- Merges a centre plus the mean of the differences of pushes from the centre, each cut to the norm `radius`: of every
--- `n` pushes, or of the pushes of a step under a BSP rule. The centre is the last update, and 0 before the first.
--- Workers should push their momentum (the paper's worker momentum). Definition: code of the authors' group, and ByzFL.
local rules = require("actor.merge.rule")
local values = require("actor.merge.values")

---@type actor.policy.Description
local M = {
  name = "centred_clip",
  parameters = { { "radius", "factor" }, { "n", "pushes", optional = true }, { "rounds", "steps", default = 1 } },
  summary = "merges the last update plus the mean of the cut differences from it",
  definition = "v <- v + mean of min(1, radius / |u - v|) (u - v), w <- pull(w, v)",
  paper = "Karimireddy, He, Jaggi, Learning from history for Byzantine robust optimization, ICML 2021",
  example = "centred_clip:10:5",
}

---@param radius number
---@param n? integer
---@param rounds integer
---@return actor.merge.Rule
function M.make(radius, n, rounds)
  return rules.new { bsp = not n, run = function(view, push)
    if not rules.collected(view, push, n) then return "hold" end
    local pushes = view:with(push)
    local centre = view.memory.centre or values.zeros(push.update)
    for _ = 1, rounds do
      local from = centre
      for _, one in ipairs(pushes) do
        local norm = one:distance(from)
        if norm < math.huge then -- false for NaN, too
          local factor = math.min(1, norm > 0 and radius / norm or 1) / #pushes
          centre = values.added(values.added(centre, factor, one.update), -factor, from)
        end
      end
    end
    view.memory.centre = centre
    return view:update(pushes, centre)
  end }
end

return M
