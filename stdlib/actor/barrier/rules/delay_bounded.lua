--- Waits as `rule` does, but at most `seconds`, so every worker passes in the end.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "delay_bounded",
  parameters = { { "seconds", "seconds" }, { "rule", "rule" } },
  summary = "any rule, but no worker waits longer than SECONDS",
  definition = "rule(view) or waited >= seconds",
  paper = "none: a time budget for a barrier, like the timeout of Albrecht et al. 2006",
  example = "delay_bounded:0.5:bsp",
}

---@param seconds number
---@param rule actor.barrier.Rule
---@return actor.barrier.Rule
function M.make(seconds, rule)
  local inner = rule.run
  return rules.new {
    where = rule.where, watches = rule.watches, beta = rule.beta, resample = rule.resample,
    policy_given = rule.policy_given,
    run = function(view)
      local left = seconds - view.waited
      if left <= rules.rounding then return true end
      local pass, recheck, worker, step = inner(view)
      if pass == false then return false, rules.sooner(recheck, left), worker, step end
      return pass, recheck
    end,
  }
end

return M
