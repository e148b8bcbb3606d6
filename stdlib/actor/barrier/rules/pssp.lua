--- Passes when no worker of a sample is more than `s` steps behind: sample(beta, ssp(s)).
local sample = require("actor.barrier.rules.sample")
local ssp = require("actor.barrier.rules.ssp")

---@type actor.policy.Description
local M = {
  name = "pssp",
  parameters = { { "beta", "workers" }, { "s", "steps" } },
  samples = true,
  summary = "like ssp, but over BETA workers drawn at random",
  definition = "min of beta workers drawn without replacement >= step - s",
  paper = sample.paper,
  example = "pssp:10:4",
}

---@param beta integer
---@param s integer
---@param options? {resample: "event"|"sticky"|{poll: number}}
---@return actor.barrier.Rule
function M.make(beta, s, options) return sample.make(beta, ssp.make(s), options) end

return M
