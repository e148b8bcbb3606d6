--- Graphs of averaging: which workers exchange their models in a round, and with which weights. A graph is
--- `function(round, id, n) -> {[id] = share}`: the shares of worker `id` of `n` (0 .. n - 1) that it sends to others in
--- a round (from 0). It keeps the rest, 1 - their sum. The same graph serves `average.start { peers = }` and the
--- simulation here (`spread`).
---
--- If worker i sends as much to j as j sends to i, each round is an average with the same sum of all models. Otherwise
--- the averaging is push-sum: the models are divided by weights that travel with them (Kempe, Dobra, Gehrke,
--- Gossip-based computation of aggregate information, FOCS 2003; Assran et al., Stochastic gradient push, ICML 2019).
---
---     local graph = require("actor.graph")
---     average.start(net.params, { peers = graph.base(2) })
---     average.start(net.params, { peers = function(round, id, n) return { [(id + 1) % n] = 0.5 } end })
local base_rounds = require("actor.graph.base_rounds")
local check = require("actor.check")
local matchings = require("actor.graph.matchings")
local new_rng = require("actor.rng")

local M = {}

---@alias actor.graph.Function fun(round: integer, id: integer, n: integer): table<integer, number>

---@class actor.Graph
---@field name string
---@field run actor.graph.Function
---@field period? fun(n: integer): integer number of rounds after which the graph repeats; nil: never
---@field private connects? fun(n: integer): boolean whether it connects all workers; nil: its rounds show it
---@overload fun(round: integer, id: integer, n: integer): table<integer, number>
local Graph = {}
Graph.__index = Graph
function Graph:__call(...) return self.run(...) end
function Graph:__tostring() return self.name end

local function make(name, run, period, connects)
  return setmetatable({ name = name, run = run, period = period, connects = connects }, Graph)
end

local function once() return 1 end

-- The least p with 2 ^ p >= n.
local function doublings(n)
  local p = 0
  while 2 ^ p < n do p = p + 1 end
  return p
end

---Each worker with its two neighbours, 1 / 3 each (Lian et al., NeurIPS 2017).
M.ring = make("ring", function(_, id, n)
  local out = {}
  if n == 2 then out[1 - id] = 0.5 end
  if n > 2 then out[(id + 1) % n], out[(id - 1) % n] = 1 / 3, 1 / 3 end
  return out
end, once)

---Each worker with all others, 1 / n each.
M.complete = make("complete", function(_, id, n)
  local out = {}
  for other = 0, n - 1 do
    if other ~= id then out[other] = 1 / n end
  end
  return out
end, once)

---Each worker sends equal shares to the workers 1, 2, 4, ... places after it (static exponential graph; Ying et al.,
---Exponential graph is provably efficient for decentralized deep training, NeurIPS 2021; definition: the authors'
---code).
M.exponential = make("exponential", function(_, id, n)
  local out, p = {}, doublings(n)
  for j = 0, p - 1 do out[(id + 2 ^ j) % n] = 1 / (p + 1) end
  return out
end, once)

---In round t each worker sends half of its model 2 ^ t places on; after log2(n) rounds the mean is exact if n is a
---power of 2 (one-peer exponential graph, the same source).
M.one_peer = make("one_peer", function(round, id, n)
  local p = doublings(n)
  if p == 0 then return {} end
  return { [(id + 2 ^ (round % p)) % n] = 0.5 }
end, function(n) return math.max(1, doublings(n)) end)

-- The permutation of 0 .. n-1 that a seed and a round define.
local function shuffled(n, seed, round)
  local order, random = {}, new_rng(seed, round)
  for i = 1, n do order[i] = i - 1 end
  random:shuffle(order)
  return order
end

-- The shares of `id`, where `order` consists of groups of `size` in which all average.
local function in_groups(order, size, id)
  local n, out = #order, {}
  for first = 1, n, size do
    local last = math.min(first + size - 1, n)
    for i = first, last do
      if order[i] == id then
        for j = first, last do
          if j ~= i then out[order[j]] = 1 / (last - first + 1) end
        end
      end
    end
  end
  return out
end

---Random pairs in each round (the averaging of AD-PSGD: Lian et al., ICML 2018). With an odd number one worker rests.
---@param seed? integer
---@return actor.Graph
function M.pairs(seed)
  local last = {}
  return make("pairs", function(round, id, n)
    if last.round ~= round or last.n ~= n then last = { round = round, n = n, order = shuffled(n, seed or 1, round) } end
    return in_groups(last.order, 2, id)
  end)
end

---A random regular graph: each worker has `degree` neighbours with shares of 1 / (degree + 1), drawn once for each
---number of workers (degree / 2 random cycles through all workers, so it is connected).
---@param degree integer even
---@param seed? integer
---@return actor.Graph
function M.regular(degree, seed)
  check.integer(degree, "degree", "graph.regular", 2, 2 ^ 16)
  if degree % 2 ~= 0 then check.fail("bad argument 'degree' to graph.regular: expected an even number, got %d", degree) end
  local cycles = {}
  return make(("regular(%d)"):format(degree), function(_, id, n)
    if not cycles[n] then
      cycles[n] = {}
      for c = 1, degree / 2 do cycles[n][c] = shuffled(n, seed or 1, c) end
    end
    local out, share = {}, 1 / (degree + 1)
    for _, order in ipairs(n > 1 and cycles[n] or {}) do
      local at = 1
      while order[at] ~= id do at = at + 1 end
      for _, other in ipairs { order[at % n + 1], order[(at - 2) % n + 1] } do out[other] = (out[other] or 0) + share end
    end
    return out
  end, once)
end

---Each worker has at most `k` partners in a round, and after the rounds of a period the mean is exact, for every number
---of workers (Takezawa, Sato, Bao, Niwa, Yamada, Beyond exponential graph, NeurIPS 2023; definition: the authors'
---code).
---@param k integer
---@return actor.Graph
function M.base(k)
  check.integer(k, "k", "graph.base", 1, 2 ^ 16)
  local known = {}
  local function rounds_of(n)
    known[n] = known[n] or base_rounds(n, k)
    return known[n]
  end
  return make(("base(%d)"):format(k), function(round, id, n)
    local rounds = rounds_of(n)
    return rounds[round % #rounds + 1][id]
  end, function(n) return #rounds_of(n) end)
end

---The rounds of `graph`, but every `every`-th round is an average of all workers (Gossip-PGA: Chen et al., Accelerating
---gossip SGD with periodic global averaging, ICML 2021; its abstract was read).
---@param graph actor.Graph|actor.graph.Function
---@param every integer
---@return actor.Graph
function M.periodic(graph, every)
  check.integer(every, "every", "graph.periodic", 1, 2 ^ 31)
  graph = M.of(graph, "graph.periodic")
  return make(("periodic(%s, %d)"):format(graph.name, every), function(round, id, n)
    return ((round + 1) % every == 0 and M.complete or graph).run(round, id, n)
  end)
end

-- The pairs of workers that exchange models in the graph's first round.
local function first_edges(graph, n)
  local rows, out = M.shares(graph, 0, n), {}
  for i = 0, n - 2 do
    for j = i + 1, n - 1 do
      if (rows[i][j] or rows[j][i] or 0) > 0 then out[#out + 1] = { i, j } end
    end
  end
  return out
end

---Random matchings of a graph in each round: a `budget` of 0.5 makes half as many exchanges as the whole graph. Edges
---that connect the graph best are active most often (MATCHA: Wang, Sahu, Yang, Joshi, Kar, arXiv 1905.09435;
---definition: the authors' code).
---```lua
---local graph = require("actor.graph")
---local distances = graph.spread(graph.matcha("ring", 0.5), { 1, 0, 0, 0 }, 60)
---print(distances[60] < 1e-3)  --> true
---```
---@param graph actor.Graph|actor.graph.Function|string its first round gives the edges; its shares are not used
---@param budget number 0 .. 1: expected share of active matchings in a round
---@param seed? integer
---@return actor.Graph
function M.matcha(graph, budget, seed)
  check.number(budget, "budget", "graph.matcha", 0, 1)
  if budget == 0 then check.fail("bad argument 'budget' to graph.matcha: expected a number above 0, got 0") end
  graph = M.of(graph, "graph.matcha")
  local plans, last = {}, {}
  local function plan_of(n)
    if plans[n] == nil then
      local edges = first_edges(graph, n)
      plans[n] = #edges > 0 and matchings.plan(n, edges, budget)
    end
    return plans[n]
  end
  local function active(round, n)
    if last.round ~= round or last.n ~= n then
      local plan = plan_of(n)
      last = { round = round, n = n, matchings = plan and matchings.active(plan, seed or 1, round) or {} }
    end
    return last.matchings
  end
  return make(("matcha(%s, %g)"):format(graph.name, budget), function(round, id, n)
    local out = {}
    for _, matching in ipairs(active(round, n)) do
      for _, e in ipairs(matching) do
        local other = e[1] == id and e[2] or e[2] == id and e[1]
        if other then out[other] = plan_of(n).share end
      end
    end
    return out
  end, nil, function(n) return n == 1 or plan_of(n) and plan_of(n).connectivity > 1e-9 end)
end

local named = { ring = M.ring, complete = M.complete, exponential = M.exponential, one_peer = M.one_peer }
local made = {
  base = { M.base, 1 }, regular = { M.regular, 4 }, pairs = { M.pairs },
  matcha = { function(budget) return M.matcha(M.complete, budget) end, 0.5 },
}

---Makes a graph from a graph, a function, or a text: ring, complete, exponential, one_peer, pairs, base:K, regular:D,
---matcha:BUDGET (of the complete graph).
---@param spec any
---@param fn string the called function, for errors
---@return actor.Graph
function M.of(spec, fn)
  if getmetatable(spec) == Graph then return spec end
  if type(spec) == "function" then
    local info = debug.getinfo(spec, "S")
    return make(("%s:%d"):format(info.short_src, info.linedefined), spec)
  end
  if type(spec) ~= "string" then check.wrong("graph", fn, "a graph, a function or a text", spec) end
  if named[spec] then return named[spec] end
  local name, number = spec:match("^(%a+):?([%d.]*)$")
  local maker = made[name or ""]
  if not maker or number ~= "" and not tonumber(number) then
    check.fail("%s: there is no graph '%s'; known are ring, complete, exponential, one_peer, pairs, base:K, regular:D, matcha:BUDGET%s",
      fn, spec, require("actor.c.names").suggestion(name or spec, { ring = 1, complete = 1, exponential = 1, one_peer = 1,
        pairs = 1, base = 1, regular = 1, matcha = 1 }))
  end
  return maker[1](tonumber(number) or maker[2])
end

---Returns the shares of a round: row i has what worker i sends. Raises if the graph sends to a worker outside of 0 ..
---n - 1, to itself, a negative share, or more than it has.
---@param graph actor.Graph|actor.graph.Function|string
---@param round integer
---@param n integer
---@return table<integer, number>[] shares by sender, from index 0
function M.shares(graph, round, n)
  graph = M.of(graph, "graph.shares")
  if n == 1 then return { [0] = {} } end
  local rows = {}
  for id = 0, n - 1 do
    local row, sum = graph.run(round, id, n), 0
    if type(row) ~= "table" then check.fail("graph '%s' returned %s, expected a table {[worker] = share}", graph.name, type(row)) end
    for other, share in pairs(row) do
      if type(other) ~= "number" or other < 0 or other >= n or other % 1 ~= 0 or other == id then
        check.fail("graph '%s': in round %d worker %d of %d sends to worker %s", graph.name, round, id, n, tostring(other))
      end
      if type(share) ~= "number" or not (share >= 0 and share <= 1) then
        check.fail("graph '%s': in round %d worker %d sends the share %s", graph.name, round, id, tostring(share))
      end
      sum = sum + share
    end
    if sum > 1 + 1e-9 then check.fail("graph '%s': in round %d worker %d sends %g of its model", graph.name, round, id, sum) end
    rows[id] = row
  end
  return rows
end

---The number of rounds before the graph repeats, at most `most`.
---@param graph actor.Graph
---@param n integer
---@param most integer
---@return integer
function M.period(graph, n, most) return graph.period and math.min(graph.period(n), most) or most end

-- Whether all n workers are reached from worker 0; near[i][j]: j is reached from i.
local function reaches_all(near, n)
  local reached, count, waiting = { [0] = true }, 1, { 0 }
  while #waiting > 0 do
    for j in pairs(near[table.remove(waiting)]) do
      if not reached[j] then
        reached[j], count = true, count + 1
        waiting[#waiting + 1] = j
      end
    end
  end
  return count == n
end

---Whether the model of every worker reaches every other in the rounds of one period, or in `rounds` rounds, applied
---again and again.
---@param graph actor.Graph|actor.graph.Function|string
---@param n integer
---@param rounds? integer default 64
---@return boolean
function M.is_connected(graph, n, rounds)
  graph = M.of(graph, "graph.is_connected")
  if graph.connects then return graph.connects(n) end
  local to, from = {}, {}
  for i = 0, n - 1 do to[i], from[i] = {}, {} end
  for round = 0, M.period(graph, n, rounds or 64) - 1 do
    local rows = M.shares(graph, round, n)
    for i = 0, n - 1 do
      for j, share in pairs(rows[i]) do
        if share > 0 then to[i][j], from[j][i] = true, true end
      end
    end
  end
  return reaches_all(to, n) and reaches_all(from, n)
end

---Applies rounds of a graph to one number for each worker, as averaging does with models, and returns the consensus
---distance after each round: the root of the mean square of the differences from the mean.
---```lua
---local graph = require("actor.graph")
---local distances = graph.spread("one_peer", { 1, 0, 0, 0 }, 2)
---print(distances[2])  --> 0
---```
---@param graph actor.Graph|actor.graph.Function|string
---@param values number[] one for each worker
---@param rounds integer
---@return number[] distances
---@return number[] values at the end
function M.spread(graph, values, rounds)
  graph = M.of(graph, "graph.spread")
  local n, sums, weights, distances = #values, {}, {}, {}
  for i = 0, n - 1 do sums[i], weights[i] = values[i + 1], 1 end
  local out = {}
  for round = 0, rounds - 1 do
    local next_sums, next_weights = {}, {}
    for i = 0, n - 1 do next_sums[i], next_weights[i] = 0, 0 end
    local rows = M.shares(graph, round, n)
    for i = 0, n - 1 do
      local kept = 1
      for j, share in pairs(rows[i]) do
        kept = kept - share
        next_sums[j], next_weights[j] = next_sums[j] + share * sums[i], next_weights[j] + share * weights[i]
      end
      next_sums[i], next_weights[i] = next_sums[i] + kept * sums[i], next_weights[i] + kept * weights[i]
    end
    sums, weights = next_sums, next_weights
    local mean, squares = 0, 0
    for i = 0, n - 1 do
      out[i + 1] = sums[i] / weights[i]
      mean = mean + out[i + 1] / n
    end
    for i = 1, n do squares = squares + (out[i] - mean) ^ 2 end
    distances[round + 1] = math.sqrt(squares / n)
  end
  return distances, out
end

return M
