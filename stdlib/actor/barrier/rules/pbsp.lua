--- Passes if no worker of a sample of `beta` workers has completed fewer steps: sample(beta, bsp()).
local bsp = require("actor.barrier.rules.bsp")
local sample = require("actor.barrier.rules.sample")

---@type actor.policy.Description
local M = {
  name = "pbsp",
  parameters = { { "beta", "workers" } },
  samples = true,
  summary = "like bsp, but over BETA workers drawn at random",
  definition = "min of beta workers drawn without replacement >= step",
  paper = sample.paper,
  example = "pbsp:10",
}

---@param beta integer
---@param options? {resample: "event"|"sticky"|{poll: number}}
---@return actor.barrier.Rule
function M.make(beta, options) return sample.make(beta, bsp.make(), options) end

return M
