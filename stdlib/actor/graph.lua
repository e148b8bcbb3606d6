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
local check = require("actor.check")
local new_rng = require("actor.rng")

local M = {}

---@alias actor.graph.Function fun(round: integer, id: integer, n: integer): table<integer, number>

---@class actor.Graph
---@field name string
---@field run actor.graph.Function
---@field period? fun(n: integer): integer number of rounds after which the graph repeats; nil: never
---@overload fun(round: integer, id: integer, n: integer): table<integer, number>
local Graph = {}
Graph.__index = Graph
function Graph:__call(...) return self.run(...) end
function Graph:__tostring() return self.name end

local function make(name, run, period) return setmetatable({ name = name, run = run, period = period }, Graph) end

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
  return make("pairs", function(round, id, n) return in_groups(shuffled(n, seed or 1, round), 2, id) end)
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

-- ---- base-(k+1): Takezawa et al., Beyond exponential graph, NeurIPS 2023; definition: the authors' code ----

-- The power of `base` that is the largest not above n.
local function power_below(n, base)
  local power = 1
  while power * base <= n do power = power * base end
  return power
end

-- The factors of n from 2 to k + 1, in the order of the rounds; nil if another factor remains.
local function factors_of(n, k)
  local list = {}
  for f = k + 1, 2, -1 do
    while n % f == 0 do
      table.insert(list, 1, f)
      n = n / f
    end
  end
  return n == 1 and list or nil
end

-- A round: weights[i][j], symmetric; `ids` maps 1 .. n to workers.
local function add_clique(weights, members)
  for _, i in ipairs(members) do
    for _, j in ipairs(members) do
      if i ~= j then weights[i][j] = 1 / #members end
    end
  end
end

-- Hyper-hypercube: the rounds' cliques over `ids`; nil if a prime factor of their number exceeds k + 1.
local function hypercube(ids, k)
  local factors, rounds, stride = factors_of(#ids, k), {}, 1
  if not factors then return nil end
  for t, f in ipairs(factors) do
    rounds[t] = {}
    for i = 0, #ids - 1 do
      if math.floor(i / stride) % f == 0 then
        local clique = {}
        for d = 0, f - 1 do clique[d + 1] = ids[i + d * stride + 1] end
        table.insert(rounds[t], clique)
      end
    end
    stride = stride * f
  end
  return rounds
end

local function slice(list, first, last)
  local out = {}
  for i = first, last do out[#out + 1] = list[i] end
  return out
end

-- The parts of `ids` with sizes a * (k + 1) ^ p, a <= k, and the equal subsets of each part.
local function parts_of(ids, k)
  local parts, power, at = {}, power_below(#ids, k + 1), 1
  while at <= #ids do
    local a = math.floor((#ids - at + 1) / power)
    if a > 0 then
      local part = { ids = slice(ids, at, at + a * power - 1), subsets = {} }
      for s = 1, a do part.subsets[s] = slice(ids, at + (s - 1) * power, at + s * power - 1) end
      parts[#parts + 1] = part
      at = at + a * power
    end
    power = power / (k + 1)
  end
  return parts
end

-- The rounds of the simple base-(k+1) graph over `ids`: functions that add edges to weights.
local function simple_base(ids, k)
  local cube = hypercube(ids, k)
  local rounds = {}
  if cube then
    for t, cliques in ipairs(cube) do
      rounds[t] = function(weights) for _, clique in ipairs(cliques) do add_clique(weights, clique) end end
    end
    return rounds
  end
  local parts = parts_of(ids, k)
  local count, first, within = #parts, {}, {}
  for l, part in ipairs(parts) do
    first[l], within[l], part.used = hypercube(part.ids, k), {}, 0
    for s, subset in ipairs(part.subsets) do within[l][s] = hypercube(subset, k) end
  end
  -- Averages within part l: over the whole part if it is small, else within its subsets.
  local function mix_within(weights, l)
    local part = parts[l]
    local whole = #part.ids < k + 1
    local length = whole and #first[l] or #within[l][1]
    if length > 0 then
      local t = part.used % length + 1
      for s = 1, whole and 1 or #within[l] do
        for _, clique in ipairs((whole and first[l] or within[l][s])[t]) do add_clique(weights, clique) end
      end
    end
    part.used = part.used + 1
  end
  local function add_round(m)
    local weights_of = {}
    local function edge(i, j, share) weights_of[#weights_of + 1] = { i, j, share } end
    local recorded = setmetatable({}, { __index = function(t, i)
      local row = setmetatable({}, { __newindex = function(_, j, share) edge(i, j, share) end })
      rawset(t, i, row)
      return row
    end })
    if m < #first[1] then
      for l = 1, count do
        local t = #first[l] > 0 and m % #first[l] + 1
        for _, clique in ipairs(t and first[l][t] or {}) do add_clique(recorded, clique) end
      end
    else
      local q = m - #first[1] + 1 -- the part that the later parts exchange with
      local unused, later = {}, 0
      if q <= count then
        for s, subset in ipairs(parts[q].subsets) do unused[s] = { unpack(subset) } end
        for l = q, count do later = later + #parts[l].ids end
      end
      for l = count, 1, -1 do
        if q < l then
          local share = #parts[q].ids / later / #unused
          for _, i in ipairs(parts[l].ids) do
            for s = 1, #unused do
              local j = table.remove(unused[s])
              edge(i, j, share)
              edge(j, i, share)
            end
          end
        elseif q ~= l or l == count then
          mix_within(recorded, l)
        end
      end
    end
    rounds[#rounds + 1] = function(weights)
      for _, e in ipairs(weights_of) do weights[e[1]][e[2]] = e[3] end
    end
  end
  local m = 0
  repeat
    add_round(m)
    m = m + 1
  until parts[1].used == #within[1][1]
  return rounds
end

-- The rounds of base-(k+1) for n workers, each {[i] = {[j] = share}}.
local function base_rounds(n, k)
  local ids, product = {}, 1
  for i = 0, n - 1 do ids[i + 1] = i end
  for q = 2, k + 1 do product = product * power_below(n, q) end
  local a, b = n, product
  while b > 0 do a, b = b, a % b end
  local groups, size = a, n / a -- gcd groups
  local plain = simple_base(ids, k)
  local inner, cubes = {}, {}
  for g = 0, groups - 1 do inner[g + 1] = simple_base(slice(ids, g * size + 1, (g + 1) * size), k) end
  for j = 1, size do
    local members = {}
    for g = 0, groups - 1 do members[g + 1] = ids[g * size + j] end
    cubes[j] = hypercube(members, k)
  end
  local functions = plain
  if #inner[1] + #cubes[1] <= #plain then
    functions = {}
    for t = 1, #inner[1] do
      functions[t] = function(weights) for _, group in ipairs(inner) do group[t](weights) end end
    end
    for t = 1, #cubes[1] do
      functions[#functions + 1] = function(weights)
        for _, cube in ipairs(cubes) do
          for _, clique in ipairs(cube[t]) do add_clique(weights, clique) end
        end
      end
    end
  end
  local rounds = {}
  for t, fill in ipairs(functions) do
    local weights = {}
    for i = 0, n - 1 do weights[i] = {} end
    fill(weights)
    rounds[t] = weights
  end
  if #rounds == 0 then rounds[1] = { [0] = {} } end
  return rounds
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

local named = { ring = M.ring, complete = M.complete, exponential = M.exponential, one_peer = M.one_peer }
local made = { base = { M.base, 1 }, regular = { M.regular, 4 }, pairs = { M.pairs } }

---Makes a graph from a graph, a function, or a text: ring, complete, exponential, one_peer, pairs, base:K, regular:D.
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
  local name, number = spec:match("^(%a+):?(%d*)$")
  local maker = made[name or ""]
  if not maker then
    check.fail("%s: there is no graph '%s'; known are ring, complete, exponential, one_peer, pairs, base:K, regular:D%s", fn,
      spec, require("actor.c.names").suggestion(name or spec, { ring = 1, complete = 1, exponential = 1, one_peer = 1,
        pairs = 1, base = 1, regular = 1 }))
  end
  return maker[1](tonumber(number) or maker[2])
end

---Returns the shares of a round: row i has what worker i sends. Raises if the graph sends to a worker outside of 0 ..
---n - 1, to itself, a negative share, or more than it has.
---@param graph actor.Graph
---@param round integer
---@param n integer
---@return table<integer, number>[] shares by sender, from index 0
function M.shares(graph, round, n)
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

---Whether the rounds of one period, or of `rounds` rounds, together connect every worker with every other.
---@param graph actor.Graph
---@param n integer
---@param rounds? integer default 64
---@return boolean
function M.is_connected(graph, n, rounds)
  local near = {}
  for i = 0, n - 1 do near[i] = {} end
  for round = 0, M.period(graph, n, rounds or 64) - 1 do
    local rows = M.shares(graph, round, n)
    for i = 0, n - 1 do
      for j, share in pairs(rows[i]) do
        if share > 0 then near[i][j], near[j][i] = true, true end
      end
    end
  end
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
