-- Simulated seconds until a linear model reaches a loss, with nodes of very different speeds: asynchronous SGD,
-- Ringmaster ASGD, Rennala SGD, delay-adaptive steps and synchronous SGD, each with the best of several rates and
-- parameters. Run it with
--     actorhost tests/bench/async_rules.lua [--nodes 100] [--loss 0.06] [--time 2000]
local actor = require "actor"
local train = actor.sim.train

local opt = actor.options { nodes = 100, loss = 0.06, time = { 2000, above = 0 }, speed = "pareto(1,1)", seeds = 3 }
local rates = { 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25 }
local n = opt.nodes
local methods = {
  { "asp", "asp", { "all" } },
  { "delay_adaptive", "asp", { "delay_adaptive" } },
  { "ringmaster", "asp", { "ringmaster:2", "ringmaster:5", "ringmaster:15", "ringmaster:50" } },
  { "rennala", "asp", { "rennala:2", "rennala:5", "rennala:15", "rennala:50" } },
  { "bsp", "bsp", { "mean" } },
}

-- When the loss stays at or below the target: the first point after the last point above it.
local function reached(training)
  local at = math.huge
  for i = #training.loss, 1, -1 do
    if not (training.loss[i] <= opt.loss) then break end
    at = training.time[i]
  end
  return at
end

local lines = {}
for _, method in ipairs(methods) do
  local best, with = math.huge, ""
  for _, rule in ipairs(method[3]) do
    for _, rate in ipairs(rates) do
      local sum = 0
      for seed = 1, opt.seeds do
        local result = train.run({
          barrier = method[2], nodes = n, time = opt.time, seed = seed, work = "exp(1)", speed = opt.speed,
        }, train.models.linear { batch = 1 }, { merge = rule, rate = rate, points = 200 })
        sum = sum + reached(result.training)
      end
      if sum / opt.seeds < best then best, with = sum / opt.seeds, ("%s, rate %g"):format(rule, rate) end
    end
  end
  lines[#lines + 1] = { method[1], best < math.huge and ("%.0f"):format(best) or "-", with }
end
print(("simulated seconds to a loss of %g, %d nodes, speed factors %s"):format(opt.loss, n, opt.speed))
print(require("actor.inspect.text").columns({ "method", ">seconds", "best of its parameters" }, lines))
