--- Matchings for `graph.matcha` (MATCHA: Wang, Sahu, Yang, Joshi, Kar, arXiv 1905.09435; definition: the authors'
--- code). A graph is divided into matchings: sets of edges that share no worker. In each round some random matchings
--- are active. Their probabilities maximise the algebraic connectivity of the expected graph under a budget. All active
--- edges have the same share. It minimises the bound of the consensus rate.
local new_rng = require("actor.rng")
local tensor = require("actor.tensor")

local M = {}

---Two workers, from 0.
---@alias actor.graph.Edge {[1]: integer, [2]: integer}

---@class actor.graph.Matchings
---@field parts actor.graph.Edge[][] the matchings
---@field chances number[] the probability of each to be active in a round
---@field share number of its model that a worker sends over an active edge
---@field connectivity number algebraic connectivity of the expected graph
---@field bound number largest factor, in the mean over the active matchings, by which a round multiplies the square of
---the consensus distance

-- The Laplacian of all matchings, each with a weight: float64 [n, n].
local function laplacian(n, parts, weights)
  local rows = {}
  for i = 1, n do
    rows[i] = {}
    for j = 1, n do rows[i][j] = 0 end
  end
  for k, part in ipairs(parts) do
    for _, edge in ipairs(part) do
      local i, j, weight = edge[1] + 1, edge[2] + 1, weights[k]
      rows[i][i], rows[j][j] = rows[i][i] + weight, rows[j][j] + weight
      rows[i][j], rows[j][i] = rows[i][j] - weight, rows[j][i] - weight
    end
  end
  return tensor.new(rows, { dtype = "float64" })
end

---Divides edges into matchings. The edges of workers with the most remaining edges come first.
---@param n integer number of workers
---@param edges actor.graph.Edge[]
---@return actor.graph.Edge[][] parts
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

-- Gradient ascent: the second smallest eigenvalue of a Laplacian is concave in the probabilities.
local function best_chances(n, parts, budget)
  local p, best, best_value = {}, nil, -1
  for k = 1, #parts do p[k] = budget / #parts end
  for t = 1, 100 do
    local values, vectors = laplacian(n, parts, p):eigh()
    local value, v = values:get(2), vectors:transpose():totable()[2]
    if value > best_value then best, best_value = { unpack(p) }, value end
    for k, part in ipairs(parts) do
      local slope = 0
      for _, e in ipairs(part) do slope = slope + (v[e[1] + 1] - v[e[2] + 1]) ^ 2 end
      p[k] = p[k] + slope / math.sqrt(t)
    end
    p = projected(p, budget)
  end
  return best, best_value
end

-- The share of an edge with the least norm of the mean of W'W without its part for the mean, with W = 1 - share * the
-- Laplacian of the active matchings. No worker sends more than its whole model, which the paper's weights may do.
local function best_share(n, parts, p)
  local variances, ones = {}, {}
  for k, value in ipairs(p) do variances[k], ones[k] = value * (1 - value), 1 end
  local mean = laplacian(n, parts, p)
  local square = mean:matmul(mean) + laplacian(n, parts, variances) * 2
  local rest = tensor.eye(n, { dtype = "float64" }) - 1 / n
  local degree = laplacian(n, parts, ones):diag():max()
  local best, least = 0, math.huge
  for step = 1, 100 do
    local share = step / 100 / degree
    local bound = (rest - mean * (2 * share) + square * share ^ 2):eigh({ vectors = false }):abs():max()
    if bound < least then best, least = share, bound end
  end
  return best, least
end

---@param n integer number of workers, at least 2
---@param edges actor.graph.Edge[] at least one
---@param budget number 0 .. 1: expected share of active matchings in a round
---@return actor.graph.Matchings
function M.plan(n, edges, budget)
  local parts = M.decompose(n, edges)
  local chances, connectivity = best_chances(n, parts, budget * #parts)
  local share, bound = best_share(n, parts, chances)
  return { parts = parts, chances = chances, share = share, connectivity = connectivity, bound = bound }
end

---Returns the active matchings of a round, the same on all workers.
---@param plan actor.graph.Matchings
---@param seed integer
---@param round integer
---@return actor.graph.Edge[][]
function M.active(plan, seed, round)
  local random, out = new_rng(seed, round), {}
  for k, chance in ipairs(plan.chances) do
    if random:uniform() < chance then out[#out + 1] = plan.parts[k] end
  end
  return out
end

return M
