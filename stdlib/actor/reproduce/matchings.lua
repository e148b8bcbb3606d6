--- MATCHA: a graph is decomposed into matchings, and in each round random matchings are active (Wang, Sahu, Yang,
--- Joshi, Kar, arXiv 1905.09435). The probabilities maximise the algebraic connectivity of the expected graph under a
--- budget; the share of an edge minimises the bound of the consensus rate. Definition: the authors' code.
local new_rng = require("actor.rng")

local M = {}

-- y = m x, for a matrix of n rows from 1.
local function times(m, x)
  local y = {}
  for i = 1, #x do
    local sum, row = 0, m[i]
    for j = 1, #x do sum = sum + row[j] * x[j] end
    y[i] = sum
  end
  return y
end

-- The largest magnitude of an eigenvalue orthogonal to the vector of ones, by power iteration, and its eigenvector.
local function dominant(m)
  local n, random, x = #m, new_rng(1), {}
  for i = 1, n do x[i] = random:normal() end
  local value = 0
  for _ = 1, 300 do
    local mean, norm = 0, 0
    for i = 1, n do mean = mean + x[i] / n end
    for i = 1, n do x[i] = x[i] - mean end
    x = times(m, x)
    for i = 1, n do norm = norm + x[i] * x[i] end
    value = math.sqrt(norm)
    if value < 1e-14 then return 0, x end
    for i = 1, n do x[i] = x[i] / value end
  end
  return value, x
end

local function combined(n, matchings, weights)
  local m = {}
  for i = 1, n do
    m[i] = {}
    for j = 1, n do m[i][j] = 0 end
  end
  for k, matching in ipairs(matchings) do
    for _, e in ipairs(matching) do
      local i, j, w = e[1] + 1, e[2] + 1, weights[k]
      m[i][i], m[j][j] = m[i][i] + w, m[j][j] + w
      m[i][j], m[j][i] = m[i][j] - w, m[j][i] - w
    end
  end
  return m
end

-- The second smallest eigenvalue of a Laplacian with degrees of at most `most` / 2, and its eigenvector.
local function connectivity(laplacian, most)
  local shifted = {}
  for i, row in ipairs(laplacian) do
    shifted[i] = {}
    for j, value in ipairs(row) do shifted[i][j] = (i == j and most or 0) - value end
  end
  local value, vector = dominant(shifted)
  return most - value, vector
end

---Decomposes the edges into matchings: each takes the edges of nodes with the most edges left first.
---@param n integer
---@param edges {[1]: integer, [2]: integer}[] nodes from 0
---@return table[] matchings
function M.decompose(n, edges)
  local left, out = { unpack(edges) }, {}
  while #left > 0 do
    local degree, used, matching, rest = {}, {}, {}, {}
    for id = 0, n - 1 do degree[id] = 0 end
    for _, e in ipairs(left) do degree[e[1]], degree[e[2]] = degree[e[1]] + 1, degree[e[2]] + 1 end
    table.sort(left, function(a, b)
      local da, db = math.max(degree[a[1]], degree[a[2]]), math.max(degree[b[1]], degree[b[2]])
      if da ~= db then return da > db end
      if a[1] ~= b[1] then return a[1] < b[1] end
      return a[2] < b[2]
    end)
    for _, e in ipairs(left) do
      local free = not used[e[1]] and not used[e[2]]
      table.insert(free and matching or rest, e)
      if free then used[e[1]], used[e[2]] = true, true end
    end
    out[#out + 1], left = matching, rest
  end
  return out
end

-- The nearest probabilities with the sum `budget`.
local function projected(p, budget)
  local low, high, out = -2, 2, {}
  for _ = 1, 60 do
    local shift, sum = (low + high) / 2, 0
    for k, value in ipairs(p) do
      out[k] = math.max(0, math.min(1, value - shift))
      sum = sum + out[k]
    end
    if sum > budget then low = shift else high = shift end
  end
  return out
end

---Returns the probabilities of the matchings under a budget, the expected number of active matchings.
---@param n integer
---@param matchings table[]
---@param budget number
---@return number[] probabilities
---@return number connectivity of the expected graph
function M.probabilities(n, matchings, budget)
  local p, most, best, best_value = {}, 2 * #matchings, nil, -1
  for k = 1, #matchings do p[k] = budget / #matchings end
  for t = 1, 100 do
    local value, v = connectivity(combined(n, matchings, p), most)
    if value > best_value then best, best_value = { unpack(p) }, value end
    for k, matching in ipairs(matchings) do
      local slope = 0
      for _, e in ipairs(matching) do slope = slope + (v[e[1] + 1] - v[e[2] + 1]) ^ 2 end
      p[k] = p[k] + slope / math.sqrt(t)
    end
    p = projected(p, budget)
  end
  return best, best_value
end

---Returns the share of an edge with the least bound of the consensus rate: the norm of the mean of W'W without its mean
---part, with W = 1 - share * the Laplacian of the active matchings. No node sends more than its whole model, which the
---paper's weights may do.
---@param n integer
---@param matchings table[]
---@param p number[]
---@return number share
---@return number bound
function M.share(n, matchings, p)
  local spread, all = {}, {}
  for k, value in ipairs(p) do spread[k], all[k] = value * (1 - value), 1 end
  local mean, extra = combined(n, matchings, p), combined(n, matchings, spread)
  local square = {}
  for i = 1, n do
    square[i] = {}
    for j = 1, n do
      local sum = 2 * extra[i][j]
      for k = 1, n do sum = sum + mean[i][k] * mean[k][j] end
      square[i][j] = sum
    end
  end
  local best, least, degree, whole = 0, math.huge, {}, combined(n, matchings, all)
  for i = 1, n do degree[i] = whole[i][i] end
  local most = 1 / math.max(unpack(degree))
  for step = 1, 100 do
    local share, m = most * step / 100, {}
    for i = 1, n do
      m[i] = {}
      for j = 1, n do m[i][j] = (i == j and 1 or 0) - 2 * share * mean[i][j] + share * share * square[i][j] end
    end
    local bound = dominant(m)
    if bound < least then best, least = share, bound end
  end
  return best, least
end

---Makes the graph of a plan: a function of the round for actor.graph, and the number of active matchings of a round.
---@param matchings table[]
---@param p number[]
---@param share number
---@return actor.graph.Function
---@return fun(round: integer): integer
function M.graph(matchings, p, share)
  local function active(round)
    local random, out = new_rng(1, round), {}
    for k, chance in ipairs(p) do
      if random:uniform() < chance then out[#out + 1] = matchings[k] end
    end
    return out
  end
  local function run(round, id)
    local out = {}
    for _, matching in ipairs(active(round)) do
      for _, e in ipairs(matching) do
        local other = e[1] == id and e[2] or e[2] == id and e[1]
        if other then out[other] = share end
      end
    end
    return out
  end
  return run, function(round) return #active(round) end
end

---A random geometric graph: nodes at random places of a square, with edges up to a distance. Draws until it is
---connected.
---@param n integer
---@param distance number
---@return {[1]: integer, [2]: integer}[] edges
function M.geometric(n, distance)
  for seed = 1, 1000 do
    local random, x, y, edges = new_rng(seed), {}, {}, {}
    for id = 0, n - 1 do x[id], y[id] = random:uniform(), random:uniform() end
    for i = 0, n - 1 do
      for j = i + 1, n - 1 do
        if (x[i] - x[j]) ^ 2 + (y[i] - y[j]) ^ 2 <= distance ^ 2 then edges[#edges + 1] = { i, j } end
      end
    end
    local reached, count, grew = { [0] = true }, 1, true
    while grew do
      grew = false
      for _, e in ipairs(edges) do
        if (reached[e[1]] or false) ~= (reached[e[2]] or false) then
          reached[e[1]], reached[e[2]], count, grew = true, true, count + 1, true
        end
      end
    end
    if count == n then return edges end
  end
  error("no connected graph", 0)
end

return M
