--- A merge rule is a callable value, `rule(view, push)`, with a name and a description of its needs.
local policy = require("actor.policy.rule")

---@class actor.merge.Rule: actor.policy.Rule
---@field run fun(view: actor.merge.View, push: actor.merge.Push): number|"hold"|"drop"|table, number?
---@field native? "all" an equivalent in C++: every push is merged at once, unchanged
---@field bsp? boolean the rule merges the pushes of a step together, so it needs a barrier rule that is BSP
---@overload fun(view: actor.merge.View, push: actor.merge.Push): number|"hold"|"drop"|table, number?

return policy.family("merge rule", {})
