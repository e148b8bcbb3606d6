--- Passes when all workers have completed the step, or `seconds` after the first of them completed it: the first worker
--- of a round waits so long for others, and then all waiting workers go on together. A worker that is later passes at
--- once.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "grace",
  parameters = { { "seconds", "seconds" } },
  summary = "waits for the others at most SECONDS after the first has completed the step",
  definition = "min(steps) >= step, or now >= seconds + first completion of the step",
  paper = "Liu, Chhaparia, Douillard, Kale, Rusu, Shen, Szlam, Ranzato, Asynchronous local-SGD training for language " ..
    "modeling, arXiv 2024 (grace period)",
  example = "grace:0.5",
}

---@param seconds number
---@return actor.barrier.Rule
function M.make(seconds)
  local self = rules.new { watches = "event" }
  function self.run(view)
    if view:behind(0) == 0 then return true end
    local round = view.shared[self] or rules.share(view, self, { step = -1, since = 0 })
    if view.step > round.step then round.step, round.since = view.step, view.now - view.waited end
    local left = seconds - (view.now - round.since)
    if view.step < round.step or left <= rules.rounding then return true end
    return false, left
  end
  return self
end

return M
