-- k-means in Harp's four ways: `actorhost -n 4 examples/models/kmeans.lua [--way allreduce|regroup|push|rotation]`.
-- Points stay on their ranks. The ways differ in the place of centroids, and in how centroids and sums of points move.
-- All find the same centroids. (With map-reduce: ../kmeans.lua.)
local actor = require "actor"
local collective, tensor = actor.collective, actor.tensor

local opt = actor.options {
  points = 20000, clusters = 8, dims = 2, iterations = 10, way = { "allreduce", "regroup", "push", "rotation" },
}
local float64 = { dtype = "float64" }

-- The i-th of all points, around one of opt.clusters centres.
local function draw(i)
  local random, at = actor.rng(actor.seed, i), {}
  for d = 1, opt.dims do at[d] = 10 * math.sin((i % opt.clusters + 1) * (d + 1)) + random:normal() end
  return at
end

local points = {}
for i = actor.rank, opt.points - 1, actor.size do points[#points + 1] = draw(i) end

-- A centroid or a sum of points: the coordinates and the number of points.
local function first_centroid(id)
  local at = draw(id)
  at[opt.dims + 1] = 0
  return tensor(at, float64)
end

local function distance(point, centroid)
  local sum = 0
  for d = 1, opt.dims do sum = sum + (point[d] - centroid[d - 1]) ^ 2 end
  return sum
end

local function add(sum, point)
  local data = sum:data()
  for d = 1, opt.dims do data[d - 1] = data[d - 1] + point[d] end
  data[opt.dims] = data[opt.dims] + 1
end

-- The new centroid from the sum of its points; without a sum (nil) it stays.
local function moved(centroid, sum)
  local count = sum and sum:get(opt.dims + 1) or 0
  local new = count > 0 and sum / count or centroid:clone()
  new:set(opt.dims + 1, count)
  return new
end

local function own_ids()
  local id = actor.rank - actor.size
  return function()
    id = id + actor.size
    return id < opt.clusters and id or nil
  end
end

local function all_centroids()
  local centroids = collective.table()
  for id = 0, opt.clusters - 1 do centroids:set(id, first_centroid(id)) end
  return centroids
end

-- The sums of this rank's points by their nearest centroid; a centroid without points has no sum.
local function sums_by(centroids)
  local sums, at = collective.table(), {}
  for id, centroid in centroids:pairs() do at[id] = centroid:data() end
  for _, point in ipairs(points) do
    local nearest, least = nil, math.huge
    for id = 0, opt.clusters - 1 do
      local far = distance(point, at[id])
      if far < least then nearest, least = id, far end
    end
    if not sums:get(nearest) then sums:set(nearest, tensor.zeros(opt.dims + 1, float64)) end
    add(sums:get(nearest), point)
  end
  return sums
end

local ways = {}

-- Every rank has all centroids and all sums.
function ways.allreduce()
  local centroids = all_centroids()
  for _ = 1, opt.iterations do
    local sums = assert(sums_by(centroids):allreduce())
    for id, centroid in centroids:pairs() do centroids:set(id, moved(centroid, sums:get(id))) end
  end
  return centroids
end

-- One rank adds up each sum and moves its centroid; then all ranks get all centroids.
function ways.regroup()
  local centroids = all_centroids()
  for _ = 1, opt.iterations do
    local sums, new = assert(sums_by(centroids):regroup()), collective.table()
    for id in own_ids() do new:set(id, moved(centroids:get(id), sums:get(id))) end
    centroids = assert(new:allgather())
  end
  return centroids
end

-- Centroids have owners. Ranks push sums to the owners, and pull copies of all centroids.
function ways.push()
  local centroids, owned = all_centroids(), collective.table { name = "owned" }
  for id in own_ids() do owned:set(id, first_centroid(id)) end
  for _ = 1, opt.iterations do
    local sums = collective.table { name = "sums" }
    assert(sums_by(centroids):push(sums))
    for id in own_ids() do owned:set(id, moved(owned:get(id), sums:get(id))) end
    assert(centroids:pull(owned))
  end
  return centroids
end

-- No rank has all centroids. They rotate through the ranks once to find each point's nearest, then the sums rotate.
function ways.rotation()
  local centroids, sums = collective.table(), collective.table()
  for id in own_ids() do centroids:set(id, first_centroid(id)) end
  local centroids_round, sums_round = collective.rotator { table = centroids }, collective.rotator { table = sums }
  for _ = 1, opt.iterations do
    local nearest, least = {}, {}
    assert(centroids_round:round(function(slice)
      for id, centroid in slice:pairs() do
        local at = centroid:data()
        for i, point in ipairs(points) do
          local far = distance(point, at)
          -- The order of slices differs between ranks, so ties are decided by the lower id.
          if not least[i] or far < least[i] or far == least[i] and id < nearest[i] then nearest[i], least[i] = id, far end
        end
      end
    end))
    for id in own_ids() do sums:set(id, tensor.zeros(opt.dims + 1, float64)) end
    assert(sums_round:round(function(slice)
      for i, point in ipairs(points) do
        local sum = slice:get(nearest[i])
        if sum then add(sum, point) end
      end
    end))
    for id in own_ids() do centroids:set(id, moved(centroids:get(id), sums:get(id))) end
  end
  return assert(centroids:allgather())
end

for id, centroid in ways[opt.way]():pairs() do
  local at = {}
  for d = 1, opt.dims do at[d] = ("%10.6f"):format(centroid:get(d)) end
  print(("%3d: %s  %d points"):format(id, table.concat(at, " "), centroid:get(opt.dims + 1)))
end
