--- Decentralised training in the simulator: each node has its own copy of a model. In a round each node makes a step
--- with its own gradient, and then the nodes average by a graph (actor.graph). Source of the order, step and then
--- average: Lian et al., Can decentralized algorithms outperform centralized algorithms?, NeurIPS 2017.
---
---     local gossip = require("actor.sim.gossip")
---     local result = gossip.run { graph = "base:1", nodes = 25, rounds = 200, model = train.models.linear() }
---     print(result.distance[200], result.loss[200])
local check = require("actor.check")
local graph = require("actor.graph")
local rng = require("actor.rng")
local train = require("actor.sim.train")
local values = require("actor.merge.values")

local M = {}

---@class actor.sim.Gossip
---@field graph string the graph's name
---@field partners integer the most partners that a node sends to in a round
---@field distance number[] consensus distance after each round: root of the mean square of the distances from the mean model
---@field loss number[] of the mean model, after each round that `points` selects
---@field accuracy? number[]
---@field own_loss? number[] the mean of the losses of the nodes' models, with the option `own`
---@field rounds integer[] the rounds of `loss`

local kinds = {
  graph = "any", nodes = "number", rounds = "number", model = "table", seed = "number?", rate = "number|function?",
  points = "number?", own = "boolean?",
}

local function mean_of(models)
  local n, mean = 0, nil
  for _ in pairs(models) do n = n + 1 end
  for id = 0, n - 1 do mean = values.added(mean, 1 / n, models[id]) end
  return mean
end

local function copy(model) return values.map(function(x) return type(x) == "number" and x or x:clone() end, model) end

-- One round of push-sum on models and weights.
local function average(models, weights, rows)
  local n = #models + 1
  local sums, totals = {}, {}
  for id = 0, n - 1 do totals[id] = 0 end
  local function send(from, to, share)
    sums[to], totals[to] = values.added(sums[to], share * weights[from], models[from]), totals[to] + share * weights[from]
  end
  for id = 0, n - 1 do
    local kept = 1
    for to, share in pairs(rows[id]) do
      kept = kept - share
      send(id, to, share)
    end
    send(id, id, kept)
  end
  for id = 0, n - 1 do models[id], weights[id] = values.added(nil, 1 / totals[id], sums[id]), totals[id] end
end

local function distance_of(models)
  local mean, squares = mean_of(models), 0
  for id = 0, #models do
    local difference = values.added(models[id], -1, mean)
    squares = squares + values.dot(difference, difference)
  end
  return math.sqrt(squares / (#models + 1)), mean
end

---Trains the copies of a model on all nodes.
---```lua
---local sim = require("actor.sim")
---local result = require("actor.sim.gossip").run {
---  graph = "one_peer", nodes = 8, rounds = 100, model = sim.train.models.linear(), seed = 1,
---}
---print(result.loss[#result.loss] < result.loss[1], result.partners)  --> true 1
---```
---@param options {graph: string|actor.Graph|actor.graph.Function, nodes: integer, rounds: integer, model: actor.sim.Model, seed?: integer, rate?: number|fun(updates: integer, nodes: integer): number, points?: integer, own?: boolean}
---@return actor.sim.Gossip
function M.run(options)
  local fn = "gossip.run"
  check.options(options, kinds, fn)
  check.integer(options.nodes, "nodes", fn, 1, 1e5)
  check.integer(options.rounds, "rounds", fn, 1, 1e7)
  local made, n, model, seed = graph.of(options.graph, fn), options.nodes, options.model, options.seed or 1
  local points, rate = options.points or 50, options.rate or model.rate or 1
  local first = model.init(rng(seed), { nodes = n, seed = seed, time = options.rounds })
  local models, weights = {}, {}
  for id = 0, n - 1 do models[id], weights[id] = copy(first), 1 end
  local out = { graph = made.name, partners = 0, distance = {}, loss = {}, accuracy = model.accuracy and {},
    own_loss = options.own and {}, rounds = {} }
  for round = 1, options.rounds do
    for id = 0, n - 1 do
      local update = model.gradient(models[id], id, round - 1, train.rng_of(seed, id, round - 1))
      -- The rate is for the sum of the updates of all nodes; the mean of n models takes the n-th part of each update.
      local factor = type(rate) == "function" and rate((round - 1) * n, n) or rate
      if update ~= nil then model.apply(models[id], update, n * factor) end
    end
    local rows = graph.shares(made, round - 1, n)
    for id = 0, n - 1 do
      local partners = 0
      for _ in pairs(rows[id]) do partners = partners + 1 end
      out.partners = math.max(out.partners, partners)
    end
    average(models, weights, rows)
    local distance, mean = distance_of(models)
    out.distance[round] = distance
    if round == 1 or math.floor(round * points / options.rounds) > math.floor((round - 1) * points / options.rounds) then
      local k = #out.rounds + 1
      out.rounds[k], out.loss[k] = round, model.loss(mean)
      if model.accuracy then out.accuracy[k] = model.accuracy(mean) end
      if options.own then
        local sum = 0
        for id = 0, n - 1 do sum = sum + model.loss(models[id]) end
        out.own_loss[k] = sum / n
      end
    end
  end
  return out
end

return M
