--- SSP within groups of similar speed. A worker's group is the workers with an average step at most `ratio` times as
--- long, and at least 1 / `ratio` times as long, as its own. A worker waits for members of its group more than
--- `s` steps behind. It waits for other workers only when `between` is given and they are farther behind than
--- `between`.
---
--- The paper divides the workers into groups beforehand, each with its own server, and lets the groups exchange models
--- asynchronously (as here without `between`). Here each waiting worker has its own group, so a worker that becomes
--- slow changes groups, and a worker between two speeds belongs to both. Workers without a measured step belong to
--- every group. A worker waits only for workers behind it, so the slowest always passes.
local rules = require("actor.barrier.rule")

---@type actor.policy.Description
local M = {
  name = "gssp",
  parameters = { { "s", "steps" }, { "ratio", "ratio", default = 2 }, { "between", "steps", optional = true } },
  named = true,
  summary = "ssp(S) among workers of similar speed (within RATIO), BETWEEN steps or no bound to others",
  definition = "min of workers with an average within a factor ratio of the own >= step - s, and min >= step - between",
  paper = "Sun, Gui, Guo, Qi, Wang, Liao, GSSP: eliminating stragglers through grouping synchronous for distributed deep " ..
    "learning in heterogeneous cluster, IEEE Transactions on Cloud Computing 2021",
  example = "gssp:1:2:8",
}

function M.check(s, _, between)
  if between and between < s then return ("between has to be at least s, which is %d, not %d"):format(s, between) end
end

---@param s integer
---@param ratio number
---@param between? integer
---@return actor.barrier.Rule
function M.make(s, ratio, between)
  between = between or math.huge
  local self = rules.new { staleness = between < math.huge and between or nil, watches = "event" }

  -- Whether a worker of similar speed has completed fewer than `least` steps. Tries the last found worker first.
  local function held(view, least)
    local n, steps, averages, mine = view.n, view.steps, view.averages, view.average
    local i = view.shared[self] or 1
    for _ = 1, n do
      if i > n then i = 1 end
      if steps[i] < least then
        local other = averages[i]
        if mine == 0 or other == 0 or (other <= mine * ratio and mine <= other * ratio) then
          view.shared[self] = i
          return true
        end
      end
      i = i + 1
    end
    return false
  end

  function self.run(view)
    local lowest, least = view:min(), view.step - s
    if lowest >= least then return true end
    if lowest < view.step - between then return false end
    return not held(view, least)
  end

  return self
end

return M
