-- Clusters points by k-means: `actorhost -n 4 examples/kmeans.lua [--points 20000] [--clusters 4] [--iterations 10]`.
-- The points are made once and stay in the memory of the nodes; an iteration moves a few sums, not points.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { points = 20000, clusters = 4, iterations = 10 }
local seed = actor.seed

-- Pairs x, y around as many centres, which lie on a circle.
local points = mr.generate(opt.points, function(i)
  local random = actor.rng(seed, i)
  local angle = 2 * math.pi * (i % opt.clusters + 0.5) / opt.clusters
  return 10 * math.cos(angle) + random:normal(), 10 * math.sin(angle) + random:normal()
end):cache()

local centroids = {}
for i, point in ipairs(points:take(opt.clusters)) do centroids[i] = { x = point[1], y = point[2] } end

local function nearest(x, y)
  local best, least = nil, math.huge
  for i, centroid in ipairs(centroids) do
    local distance = (x - centroid.x) ^ 2 + (y - centroid.y) ^ 2
    if distance < least then best, least = i, distance end
  end
  return best
end

-- One row for each cluster that the partition has points of: its number, and what they add up to.
local function sums_of(rows)
  local sums = {}
  for x, y in rows do
    local i = nearest(x, y)
    local sum = sums[i] or { x = 0, y = 0, n = 0 }
    sum.x, sum.y, sum.n = sum.x + x, sum.y + y, sum.n + 1
    sums[i] = sum
  end
  return pairs(sums)
end

local function add(a, b) return { x = a.x + b.x, y = a.y + b.y, n = a.n + b.n } end

for _ = 1, opt.iterations do
  -- `centroids` is frozen here: a task that runs again after a node was lost sees those of its iteration.
  local sums = points:map_partition(sums_of):reduce_by_key(add):collect()
  centroids = {}
  for _, pair in ipairs(sums) do
    local sum = pair[2]
    centroids[#centroids + 1] = { x = sum.x / sum.n, y = sum.y / sum.n, n = sum.n }
  end
end

table.sort(centroids, function(a, b) return math.atan2(a.y, a.x) < math.atan2(b.y, b.x) end)
for _, centroid in ipairs(centroids) do print(("%7.2f %7.2f  %d points"):format(centroid.x, centroid.y, centroid.n)) end
