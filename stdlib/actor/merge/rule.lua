--- A merge rule is a callable value, `rule(view, push)`, with a name and a description of its needs.
local policy = require("actor.policy.rule")

---@class actor.merge.Rule: actor.policy.Rule
---@field run fun(view: actor.merge.View, push: actor.merge.Push): number|"hold"|"drop"|table, number?
---@field native? "all" an equivalent in C++: every push is merged at once, unchanged
---@field alone? boolean the rule sees only the values of the push, so peers can apply it
---@field bsp? boolean the rule merges the pushes of a step together, so the barrier rule has to be BSP
---@overload fun(view: actor.merge.View, push: actor.merge.Push): number|"hold"|"drop"|table, number?

local M = policy.family("merge rule", {})

---Whether a rule has all pushes of an update: `n` pushes, or, without `n`, the pushes of a step under a BSP rule.
---@param view actor.merge.View
---@param push actor.merge.Push
---@param n? integer
---@return boolean
function M.collected(view, push, n)
  if n then return #view.held + 1 >= n end
  return push.left == 0
end

return M
