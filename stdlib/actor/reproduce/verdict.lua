--- Verdicts on the claims of papers. A claim compares a measure of two runs with the same seed. The ratios of all seeds
--- give a geometric mean with an interval after Student. The confidence of the interval is corrected for the number of
--- tested claims (Bonferroni), so all intervals of a report together are right with a probability of 95 %.
local summary = require("actor.sim.summary")

local M = {}

local least, most = 1e-12, 1e12 -- of a measured value, so that each has a logarithm

---@class actor.reproduce.Judged
---@field verdict "reproduced"|"not reproduced"|"undecided"
---@field ratio number geometric mean over the seeds
---@field low number
---@field high number

---Returns a measured value within 1e-12 .. 1e12. A diverged run has the largest value.
---@param value number
---@return number
function M.clamped(value)
  if value ~= value then return most end
  return math.max(least, math.min(most, value))
end

local function log_of(value) return math.log(M.clamped(value)) end

---Returns the confidence of each interval of a report with so many claims.
---@param claims integer
---@return number
function M.confidence(claims) return 1 - 0.05 / math.max(1, claims) end

---Judges a claim. `wants` is "less" or "greater", or "as" for at most 1 + `within` times as much.
---```lua
---local verdict = require("actor.reproduce.verdict")
---local judged = verdict.judge({ 1, 1.1, 0.9 }, { 2, 2.1, 2 }, { wants = "less" }, 0.95)
---print(judged.verdict, judged.ratio < 0.6)  --> reproduced true
---```
---@param of number[] values by seed; NaN: a diverged run
---@param against number[] values with the same seeds
---@param claim {wants: "less"|"greater"|"as", within?: number}
---@param confidence number
---@return actor.reproduce.Judged
function M.judge(of, against, claim, confidence)
  local logs = {}
  if #of == 0 then return { verdict = "undecided", ratio = 1, low = least, high = most } end
  for k, value in ipairs(of) do logs[k] = log_of(value) - log_of(against[k]) end
  local mean = summary.mean(logs, confidence)
  local bound = claim.wants == "as" and math.log(1 + claim.within) or 0
  local below, above = mean.high < bound, mean.low > bound
  if claim.wants == "greater" then below, above = above, below end
  local verdict = below and "reproduced" or above and "not reproduced" or "undecided"
  if mean.n < 2 then return { verdict = "undecided", ratio = math.exp(mean.mean), low = least, high = most } end
  return { verdict = verdict, ratio = math.exp(mean.mean), low = math.exp(mean.low), high = math.exp(mean.high) }
end

return M
