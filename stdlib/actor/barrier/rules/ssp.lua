--- No worker is more than `s` steps ahead of the slowest, which always passes; ssp(0) is bsp.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "ssp",
  parameters = { { "s", "steps" } },
  summary = "no worker is more than S steps ahead of the slowest",
  definition = "min >= step - s",
  paper = "Ho, Cipar, Cui, Lee, Kim, Gibbons, Gibson, Ganger, Xing, More effective distributed ML via a stale " ..
    "synchronous parallel parameter server, NIPS 2013",
  example = "ssp:4",
}

---@param s integer
---@return actor.barrier.Rule
function M.make(s)
  local function run(view) return view:min() >= view.step - s end
  return rules.new { staleness = s, watches = "floor", native = { kind = "clock", staleness = s }, run = run }
end

return M
