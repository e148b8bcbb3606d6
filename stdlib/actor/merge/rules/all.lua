--- Merges every push unchanged, however late it is.
local rules = require("actor.merge.rule")

---@type actor.policy.Description
local M = {
  name = "all",
  parameters = {},
  summary = "merges every push unchanged",
  definition = "w <- pull(w, u)",
  paper = "none: the default",
  example = "all",
}

---@return actor.merge.Rule
function M.make()
  return rules.new { native = "all", run = function() return 1 end }
end

return M
