-- Steps of peers with random speeds, beside the simulator's result for the same rule, number of nodes and delays: the
-- mean number of steps that each worker has begun, and the spread (standard deviation).
-- Usage:
--   actorhost -n 64 --inject "delay=0.1+exp(0.1)" peers_beside_sim.lua --work "0.1+exp(0.1)" [--seconds S]
--   actorhost -n 64 --inject "delay=0.1+exp(0.1),straggler=0.1:2x" ... --work "0.1+exp(0.1)" --straggler 0.1:2x
local actor = require("actor")
local co, sim = actor.collective, actor.sim

local options = actor.options { work = "0.1+exp(0.1)", straggler = "", seconds = 20, repeats = 10 }
local rules = {
  "bsp", "ssp:4", "pbsp:4@sticky", "pbsp:4@poll:0.1", "pssp:4:4@sticky", "pssp:4:4@poll:0.1", "pbsp:1@sticky", "asp",
}

-- The mean and the standard deviation of the workers' steps.
local function measured(rule)
  local begun = 0
  actor.peer.run {
    schedule = function(ctx)
      if ctx.seconds < options.seconds then begun = begun + 1 end
      return {}
    end,
    push = function() return {} end,
    barrier = rule,
    stop = function(ctx) return ctx.seconds >= options.seconds end,
  }
  local mean, squares, all = 0, 0, co.allgather(begun)
  for i = 1, all.n do mean = mean + all[i] / all.n end
  for i = 1, all.n do squares = squares + (all[i] - mean) ^ 2 / all.n end
  return mean, math.sqrt(squares)
end

local function simulated(rule)
  local mean, sd = 0, 0
  for seed = 1, options.repeats do
    local result = sim.run {
      barrier = rule, nodes = actor.size, time = options.seconds, work = options.work, topology = "peers", seed = seed,
      straggler = options.straggler ~= "" and options.straggler or nil,
    }
    mean, sd = mean + result.mean_step / options.repeats, sd + result.sd_step / options.repeats
  end
  return mean, sd
end

print(("%d workers, steps of %s s, stragglers: %s, %d s"):format(actor.size, options.work,
  options.straggler ~= "" and options.straggler or "none", options.seconds))
print("rule               mean step: peers   sim     ratio   spread: peers   sim")
for _, rule in ipairs(rules) do
  local mean, sd = measured(rule)
  if actor.rank == 0 then
    local sim_mean, sim_sd = simulated(rule)
    print(("%-18s %16.1f %7.1f %7.3f %14.2f %7.2f"):format(rule, mean, sim_mean, mean / sim_mean, sd, sim_sd))
  end
end
