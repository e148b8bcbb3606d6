--- The runs of a published experiment. A paper's file makes them by `train` (a barrier rule and a merge rule in the
--- simulator, with a model), `simulate` (without a model), `gossip` (rounds of averaging by a graph), `decentralised`
--- (the same without common rounds) or `custom`.
local decentralised = require("actor.reproduce.decentralised")
local models = require("actor.reproduce.models")
local sim = require("actor.sim")
local gossip = require("actor.sim.gossip")
local graph = require("actor.graph")
local new_rng = require("actor.rng")
local train = require("actor.sim.train")
local util = require("actor.util")

local M = {}

---@class actor.reproduce.Run
---@field name string
---@field words string its options
---@field rates? number[] learning rates to choose from; the choice has its own seeds
---@field run fun(seed: integer, rate?: number): actor.reproduce.Result

---@class actor.reproduce.Result
---@field x? number[] seconds, rounds or the like
---@field loss? number[] at these places
---@field accuracy? number[]
---@field distance? number[] consensus distance
---@field updates? number[] merged updates at these places
---@field values table<string, number> other measures

local points = 100 -- of a curve

-- "barrier ssp:4, nodes 32": the options in order of names.
local function words_of(options)
  local parts = {}
  for name, value in util.pairs(options) do
    if type(value) == "string" or type(value) == "number" then parts[#parts + 1] = ("%s %s"):format(name, tostring(value)) end
  end
  return table.concat(parts, ", ")
end

---Returns rates around a rate, a factor of two apart.
---@param rate number
---@param down integer
---@param up integer
---@return number[]
function M.around(rate, down, up)
  local out = {}
  for k = -down, up do out[#out + 1] = rate * 2 ^ k end
  return out
end

local function values_of(result)
  local lived = math.max(result.busy + result.waiting + result.network + result.down, 1e-300)
  return {
    steps = result.mean_step, sd_step = result.sd_step, min_step = result.min_step, waiting = result.waiting / lived,
    time_of_step = result.time / math.max(result.mean_step, 1e-9), staleness = result.staleness.mean, done = result.updates, least_share = result.min_step / math.max(result.mean_step, 1),
  }
end

---A run without a model.
---@param name string
---@param options actor.sim.Options
---@return actor.reproduce.Run
function M.simulate(name, options)
  return {
    name = name, words = words_of(options),
    run = function(seed) return { values = values_of(sim.run(util.merged(options, { seed = seed }))) } end,
  }
end

local of_plan = { model = true, merge = true, rate = true, rates = true, attack = true }

-- A text names a model of sim.train; a table has the options of the quadratic, with `steps` for local steps.
local function make_model(model)
  if type(model) == "function" then return model() end
  if type(model) == "string" then return assert(train.from(model))() end
  local options = util.merged(model)
  local steps, rate = options.steps, options.inner
  options.steps, options.inner = nil, nil
  local made = models.quadratic(options)
  return steps and models.local_steps(made, steps, rate) or made
end

local function model_words(model)
  if type(model) ~= "table" then return type(model) == "string" and model or "own" end
  local words = words_of(model)
  return words == "" and "quadratic" or ("quadratic (%s)"):format(words)
end

-- Synchronous training makes a step with the mean of a round's gradients; its rates are for the mean. `all` would apply
-- the gradients of a round one by one.
local function synchronous(options)
  if options.barrier ~= "bsp" or (options.merge or "all") ~= "all" then return options end
  local rates = {}
  for k, rate in ipairs(options.rates or {}) do rates[k] = rate * options.nodes end
  return util.merged(options, {
    merge = "mean", rates = options.rates and rates, rate = options.rate and options.rate * options.nodes,
  })
end

---A run that trains a model. Under `bsp` the merge rule is `mean`, and the rates are multiplied by the number of nodes.
---@param name string
---@param options table of sim.run, with `model` (a text of sim.train, or options of the quadratic), `merge`, `attack`,
---  and `rate` or `rates`
---@return actor.reproduce.Run
function M.train(name, options)
  options = synchronous(options)
  local simulated, shown = {}, {}
  for key, value in pairs(options) do
    if not of_plan[key] then simulated[key], shown[key] = value, value end
  end
  shown.merge, shown.attack, shown.model, shown.rate = options.merge, options.attack, model_words(options.model), options.rate
  return {
    name = name, words = words_of(shown), rates = options.rates,
    run = function(seed, rate)
      local plan = { merge = options.merge, attack = options.attack, rate = rate or options.rate, points = points }
      local result = train.run(util.merged(simulated, { seed = seed }), make_model(options.model), plan)
      local training, out = result.training, values_of(result)
      out.dropped = training.dropped
      return {
        x = training.time, loss = training.loss, accuracy = training.accuracy, updates = training.updates, values = out,
      }
    end,
  }
end

---A run of decentralised training in rounds; its loss is the mean of the nodes' losses. A round takes `compute` seconds
---and `link` seconds for each partner, or `seconds(round)`.
---@param name string
---@param options {graph: string|actor.Graph, nodes: integer, rounds: integer, model: table|string, rate?: number, rates?: number[], compute?: number, link?: number, seconds?: fun(round: integer): number, [string]: any}
---@return actor.reproduce.Run
function M.gossip(name, options)
  local shown = util.merged(options, { model = model_words(options.model), graph = tostring(options.graph) })
  return {
    name = name, words = words_of(shown), rates = options.rates,
    run = function(seed, rate)
      local result = gossip.run {
        graph = options.graph, nodes = options.nodes, rounds = options.rounds, model = make_model(options.model),
        seed = seed, rate = (rate or options.rate) / options.nodes, points = points, own = true,
      }
      local fixed = (options.compute or 1) + (options.link or 0) * result.partners
      local at, now, x, distance = {}, 0, {}, {}
      for round = 1, options.rounds do
        now = now + (options.seconds and options.seconds(round - 1) or fixed)
        at[round] = now
      end
      for k, round in ipairs(result.rounds) do x[k], distance[k] = at[round], result.distance[round] end
      local last = result.distance[options.rounds]
      return {
        x = x, loss = result.own_loss, distance = distance, updates = result.rounds,
        values = { partners = result.partners, distance = last },
      }
    end,
  }
end

---A run of decentralised training without common rounds.
---@param name string
---@param options table of decentralised.run, with `model` as for `train`, and `rate` or `rates`
---@return actor.reproduce.Run
function M.decentralised(name, options)
  return {
    name = name, words = words_of(util.merged(options, { model = model_words(options.model) })), rates = options.rates,
    run = function(seed, rate)
      local own = util.merged(options, { seed = seed, rate = rate or options.rate, model = make_model(options.model), points = points })
      own.rates = nil
      return decentralised.run(own)
    end,
  }
end

---A run that averages one random number for each node, without a model. Its value `after_period` is the distance after
---a period of the graph.
---@param name string
---@param spec string a graph with a period, as in graph.of
---@param nodes integer
---@param rounds integer at least a period
---@return actor.reproduce.Run
function M.consensus(name, spec, nodes, rounds)
  return M.custom(name, ("graph %s, nodes %d"):format(spec, nodes), function(seed)
    local random, numbers, x = new_rng(seed), {}, {}
    for i = 1, nodes do numbers[i] = random:normal() end
    for k = 1, rounds do x[k] = k end
    local distance = graph.spread(spec, numbers, rounds)
    return { x = x, distance = distance, values = { after_period = distance[graph.of(spec, "runs.consensus").period(nodes)] } }
  end)
end

---@param name string
---@param words string its options
---@param run fun(seed: integer, rate?: number): actor.reproduce.Result
---@param rates? number[]
---@return actor.reproduce.Run
function M.custom(name, words, run, rates) return { name = name, words = words, run = run, rates = rates } end

return M
