-- Clusters points by k-means: `actorhost -n 4 examples/kmeans.lua [--points 20000] [--clusters 4] [--iterations 10]`.
-- The points are made once and never move; a round sends the centroids and a few sums. With `--barrier ssp:2` (or any
-- other rule) fast nodes continue with centroids that lack the last sums of slow nodes.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { points = 20000, clusters = 4, iterations = 10 }
local seed = actor.seed

-- Pairs x, y around opt.clusters centres on a circle.
local points = mr.generate(opt.points, function(i)
  local random = actor.rng(seed, i)
  local angle = 2 * math.pi * (i % opt.clusters + 0.5) / opt.clusters
  return 10 * math.cos(angle) + random:normal(), 10 * math.sin(angle) + random:normal()
end):cache()

local first = {}
for i, point in ipairs(points:take(opt.clusters)) do first[i] = { x = point[1], y = point[2], n = 0 } end

local function nearest(centroids, x, y)
  local best, least = nil, math.huge
  for i, centroid in ipairs(centroids) do
    local distance = (x - centroid.x) ^ 2 + (y - centroid.y) ^ 2
    if distance < least then best, least = i, distance end
  end
  return best
end

-- The sums of a partition's points by their nearest centroid.
local function sums_of(rows, centroids)
  local sums = {}
  for i in ipairs(centroids) do sums[i] = { x = 0, y = 0, n = 0 } end
  for _, point in ipairs(rows) do
    local x, y = point[1], point[2]
    local sum = sums[nearest(centroids, x, y)]
    sum.x, sum.y, sum.n = sum.x + x, sum.y + y, sum.n + 1
  end
  return sums
end

-- Computes the centroids from the newest sums of all partitions; a centroid without points stays.
local function centroids_of(before, sums_of_partitions)
  local centroids = {}
  for i, old in ipairs(before) do
    local x, y, n = 0, 0, 0
    for _, sums in ipairs(sums_of_partitions) do x, y, n = x + sums[i].x, y + sums[i].y, n + sums[i].n end
    centroids[i] = n > 0 and { x = x / n, y = y / n, n = n } or { x = old.x, y = old.y, n = 0 }
  end
  return centroids
end

local centroids = points:iterate { state = first, step = sums_of, merge = centroids_of, steps = opt.iterations }

table.sort(centroids, function(a, b) return math.atan2(a.y, a.x) < math.atan2(b.y, b.x) end)
for _, centroid in ipairs(centroids) do print(("%7.2f %7.2f  %d points"):format(centroid.x, centroid.y, centroid.n)) end
