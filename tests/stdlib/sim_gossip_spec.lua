--- Decentralised training by graphs in the simulator.
local gossip = require("actor.sim.gossip")
local train = require("actor.sim.train")
local values = require("actor.merge.values")

-- A model of one number; the gradient of node `id` pulls it to id.
local function pull_to_ids()
  return {
    init = function() return { x = 0 } end,
    gradient = function(params, id) return { x = params.x - id } end,
    apply = function(params, update, scale) params.x = params.x - scale * update.x end,
    loss = function(params) return params.x end,
    rate = 0.01,
  }
end

test("a round is a step of each node and then an average, as a plain loop makes it", function()
  local result = gossip.run { graph = "ring", nodes = 4, rounds = 3, model = pull_to_ids(), points = 3 }
  local x = { [0] = 0, 0, 0, 0 }
  for round = 1, 3 do
    local stepped, mean, squares = {}, 0, 0
    for id = 0, 3 do stepped[id] = x[id] - 0.04 * (x[id] - id) end
    for id = 0, 3 do x[id] = (stepped[id] + stepped[(id + 1) % 4] + stepped[(id - 1) % 4]) / 3 end
    for id = 0, 3 do mean = mean + x[id] / 4 end
    for id = 0, 3 do squares = squares + (x[id] - mean) ^ 2 / 4 end
    near(result.loss[round], mean, 1e-12)
    near(result.distance[round], math.sqrt(squares), 1e-12)
  end
  equal({ result.graph, result.partners, result.rounds }, { "ring", 2, { 1, 2, 3 } })
end)

test("with the complete graph it is training with the mean of all gradients", function()
  local model = train.models.linear()
  local result = gossip.run { graph = "complete", nodes = 6, rounds = 40, model = model, seed = 5, rate = 0.02, points = 1 }
  local again = train.models.linear()
  local rng = require("actor.rng")
  local params = again.init(rng(5), { nodes = 6, seed = 5, time = 40 })
  for round = 0, 39 do
    local sum
    for id = 0, 5 do sum = values.added(sum, 1, again.gradient(params, id, round, train.rng_of(5, id, round))) end
    again.apply(params, sum, 0.02)
  end
  near(result.loss[#result.loss], again.loss(params), 1e-9)
  holds(result.distance[40], "<", 1e-9)
end)

test("better connected graphs have a smaller consensus distance, and all graphs learn", function()
  local distance = {}
  for _, spec in ipairs { "ring", "base:1", "exponential", "complete" } do
    local result = gossip.run { graph = spec, nodes = 16, rounds = 60, model = train.models.linear(), seed = 3, rate = 0.01 }
    holds(result.loss[#result.loss], "<", result.loss[1] / 2, spec)
    local mean = 0
    for round = 31, 60 do mean = mean + result.distance[round] / 30 end
    distance[#distance + 1] = mean
  end
  holds(distance[1], ">", distance[3])
  holds(distance[3], ">", distance[4])
end)

test("the copies of a net are trained apart", function()
  local result = gossip.run { graph = "one_peer", nodes = 4, rounds = 24, model = train.models.mnist { batch = 16, test = 200 }, points = 2 }
  holds(result.accuracy[#result.accuracy], ">", 0.5)
  holds(result.distance[24], ">", 0)
end)

test("wrong options are errors", function()
  local function run(changes)
    local options = { graph = "ring", nodes = 2, rounds = 1, model = pull_to_ids() }
    for name, value in pairs(changes) do options[name] = value end
    return function() gossip.run(options) end
  end
  raises(run { graph = "rng" }, "gossip.run: there is no graph 'rng'")
  raises(run { nodes = 0 }, "bad argument 'nodes' to gossip.run")
  raises(run { steps = 2 }, "steps")
end)
