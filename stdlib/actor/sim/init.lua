--- The barrier simulator as a library: simulates a rule on many nodes, in virtual time. A seed gives the same result on
--- every machine.
---
---     local sim = require "actor.sim"
---     local result = sim.run { barrier = "pbsp:10", nodes = 200, time = 200, work = "1+exp(1)", seed = 1 }
---     print(result.mean_step, result.sd_step)
---
--- `sweep` runs grids of simulations, `summary` computes means with confidence intervals, `table` writes rows,
--- `figures` draws them.
local check = require("actor.check")
local barrier = require("actor.barrier")
local c = require("actor.c.sim")
local spelling = require("actor.c.names")

---@class actor.sim
local M = {}

---@class actor.sim.Options
---@field barrier string|actor.barrier.Rule|fun(view: actor.barrier.View): boolean, number? the rule, in a form of barrier.from
---@field resample? string when a sampling rule draws again, unless its text specifies it: "event" (default), "sticky", "poll:S"
---@field nodes? integer default 100
---@field time? number simulated seconds, default 200
---@field work? string seconds of each step, "C+DIST(ARGS)": exp(mean) gamma(shape,scale) pareto(shape,min) lognormal(mu,sigma) uniform(low,high) const(c) trace(file); default "1+exp(1)"
---@field seed? integer default 0
---@field straggler? string "SHARE:FACTORx": that share of the nodes is slower by that factor; "...@SECONDS": the slow nodes change at this interval
---@field speed? string a distribution of work factors, one factor per node
---@field topology? string "oracle" (default), "server:SHARDS", "peers"
---@field service? string seconds that a shard needs for its part of an update
---@field bandwidth? number bytes a second of a shard's link, each way; 0 is unlimited
---@field bytes? number size of an update and of a model
---@field delay? string seconds of a message's transfer
---@field loss? number share of lost messages
---@field retry? number seconds until a lost message is sent again, default 0.2
---@field churn? string "JOIN:LEAVE", nodes that join and leave per second
---@field failures? string "LIFE:REPAIR", mean seconds until a node crashes, and until a new node joins
---@field detect? number seconds until a crash is noticed, default 2.5
---@field native? boolean false: run classic rules in Lua too, instead of in C++
---@field trace? boolean record every event in the result's `trace`
---@field on_progress? fun(share: number) called a few times a second with the elapsed share of the simulated time
---@field load? function reads rule files, as for barrier.from
---@field replay? string a trace of --record ("FILE", "FILE#2" for its second run) instead of nodes, work, speed, straggler, churn
---@field replay_shift? number 0 .. 1: begins the replay at this share of the recorded time, with the workers of the recording's end

local kinds = {
  barrier = "string|table|function", resample = "string?", nodes = "number?", time = "number?", work = "string?",
  seed = "number?", straggler = "string?", speed = "string?", topology = "string?", service = "string?",
  bandwidth = "number?", bytes = "number?", delay = "string?", loss = "number?", retry = "number?", churn = "string?",
  failures = "string?", detect = "number?", native = "boolean?", trace = "boolean?", replay = "string?",
  replay_shift = "number?", load = "function?", on_progress = "function?",
}

---@class actor.sim.Moments
---@field count integer
---@field mean number
---@field sd number
---@field skew number 0 for a symmetric distribution
---@field kurtosis number 3 for a normal distribution
---@field max number

---@class actor.sim.Result
---@field mean_step number mean, over the nodes, of the steps started by the end
---@field sd_step number standard deviation of these steps
---@field min_step integer
---@field max_step integer
---@field ids integer[] the live nodes at the end
---@field steps integer[] their steps
---@field busy_by_node number[] their seconds of work
---@field updates integer completed steps of all nodes that ever existed
---@field checks integer number of rule evaluations
---@field messages integer number of sent messages
---@field lost integer number of lost messages
---@field alive integer nodes at the end
---@field joined integer
---@field departed integer
---@field crashed integer
---@field busy number node-seconds of work
---@field waiting number node-seconds at the barrier
---@field network number node-seconds of messages and servers' queues
---@field down number node-seconds between crashes and their detection
---@field staleness actor.sim.Moments updates of others between a step's pull and its update
---@field progress_inconsistency actor.sim.Moments the same divided by the nodes
---@field sequence_inconsistency actor.sim.Moments of a pull: updates that differ from a serial execution, divided by the nodes
---@field progress {time: number[], mean: number[], min: integer[], max: integer[]} completed steps
---@field trace? {time: number[], id: integer[], step: integer[], event: string[]}
---@field ended number seconds
---@field last_progress number time of the last start or completion of a step
---@field emptied? number when the last node disappeared, if none is live at the end

M.default_work = "1+exp(1)"

---Checks options and makes the scenario for the C++ simulator; or returns nil and an error.
---```lua
---local scenario, message = actor.sim.scenario { barrier = "bsp", work = "exp(" }
---print(scenario, message ~= nil)  --> nil true
---```
---@param options actor.sim.Options
---@return table? scenario
---@return string? message
function M.scenario(options)
  local scenario = {}
  for name in pairs(kinds) do scenario[name] = options[name] end
  scenario.work = scenario.work or M.default_work
  scenario.barrier, scenario.resample, scenario.native, scenario.replay, scenario.replay_shift, scenario.load = nil, nil, nil, nil, nil, nil
  if options.replay then
    local replay = require("actor.sim.replay")
    local run = replay.load(options.replay)
    scenario.replay = replay.nodes(run, options.replay_shift)
    scenario.time = options.time or replay.seconds(run)
  end
  local fine, message = c.check(scenario)
  if not fine then return nil, message end
  return scenario
end

---Simulates one run. Raises errors of the rule, with its name, and a deadlock, with the waiting nodes.
---```lua
---local result = actor.sim.run { barrier = "ssp:4", nodes = 20, time = 20, seed = 1 }
---print(#result.steps)  --> 20
---```
---@param options actor.sim.Options
---@return actor.sim.Result
function M.run(options)
  check.options(options, kinds, "sim.run")
  local scenario, message = M.scenario(options)
  if not scenario then check.fail("sim.run: %s", message) end
  local peers = options.topology == "peers"
  local resample = options.resample or (peers and "poll:0.5" or nil)
  local rule = barrier.from(options.barrier, { resample = resample, load = options.load })
  scenario.on_progress = options.on_progress
  if rule.native and options.native ~= false then return c.run(scenario, rule.native) end
  -- As on the cluster, a rule decides before the first step; a classic rule passes there, as its C++ form does.
  local sampling = { kind = "other", beta = rule.beta, resample = rule.resample, decides_first_step = not rule.native }
  return c.run(scenario, sampling, barrier.evaluator(rule, c.rule_seed(scenario.seed or 0)))
end

---Returns the quantile `q` of a sorted array: the least value that is not below the share `q` of its elements.
---```lua
---print(actor.sim.quantile({ 1, 2, 3, 4 }, 0.5))  --> 2
---```
---@param sorted number[]
---@param q number 0 .. 1
---@return number
function M.quantile(sorted, q) return sorted[math.max(1, math.ceil(q * #sorted))] end

local lazy = { advise = true, sweep = true, summary = true, table = true, figures = true, replay = true, train = true, pool = true, paper = true, modules = true }

return setmetatable(M, {
  __index = function(_, name)
    if lazy[name] then
      local module = require("actor.sim." .. name)
      rawset(M, name, module)
      return module
    end
    local names = {}
    for _, some in ipairs { M, lazy } do
      for key in pairs(some) do names[#names + 1] = key end
    end
    spelling.unknown("sim.", tostring(name), names)
  end,
})
