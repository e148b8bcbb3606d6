-- Jobs of mapreduce_test.cpp; the first argument selects the job.
local actor = require "actor"
local mr = require "actor.mapreduce"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

function jobs.count(...)
  local path = ...
  local counts = mr.load(path)
    :flatmap(function(line) return line:gmatch("%S+") end)
    :map(function(word) return word, 1 end)
    :reduce_by_key(function(a, b) return a + b end)
    :collect()
  table.sort(counts, function(a, b) return a[1] < b[1] end)
  for _, pair in ipairs(counts) do print(pair[1] .. " " .. pair[2]) end
end

-- The same with native functions only.
function jobs.count_natively(...)
  local counts = mr.load(...):flatmap(mr.words):map(mr.one):reduce_by_key(mr.sum):collect()
  table.sort(counts, function(a, b) return a[1] < b[1] end)
  for _, pair in ipairs(counts) do print(pair[1] .. " " .. pair[2]) end
end

-- Worker 2 stays in its first record until it is killed. No other worker finishes a task before.
function jobs.one_stays()
  local process = io.open("/proc/self/stat"):read("*n")
  local sums = mr.range(1, 20000, 1, 40)
    :map(function(i)
      if actor.id == 2 then
        announce("worker 2 stays")
        actor.log.info("stays in process %d.", process)
        while true do end
      end
      await("worker 2 stays")
      return i % 100, i
    end)
    :reduce_by_key(function(a, b) return a + b end)
  local total = 0
  for _, pair in ipairs(sums:collect()) do
    total = total + 1
    assert(pair[2] == 200 * pair[1] + (pair[1] == 0 and 200 or 0) * 100 + 100 * 199 * 100, pair[1] .. " has " .. pair[2])
  end
  print("keys:", total)
end

-- K-means of 4 clusters. With "stay" worker 2 stays in its first partition of iteration 5 until it is killed; no other
-- worker finishes a partition before.
function jobs.means(...)
  local stay = (...) == "stay"
  local process = io.open("/proc/self/stat"):read("*n")
  local points = mr.generate(40000, function(i)
    local random = actor.rng(7, i)
    return (i % 4) * 3 + random:normal(), (i % 4 % 2) * 3 + random:normal()
  end, 40):cache()
  local centroids = points:take(4)

  local function nearest(x, y)
    local best, least = nil, math.huge
    for i, centroid in ipairs(centroids) do
      local distance = (x - centroid[1]) ^ 2 + (y - centroid[2]) ^ 2
      if distance < least then best, least = i, distance end
    end
    return best
  end

  for iteration = 1, 10 do
    local sums = points
      :map_partition(function(rows)
        if stay and iteration == 5 then
          if actor.id == 2 then
            announce("worker 2 stays")
            actor.log.info("stays in process %d.", process)
            while true do end
          end
          await("worker 2 stays")
        end
        local sums = {}
        for x, y in rows do
          local i = nearest(x, y)
          local sum = sums[i] or { 0, 0, 0 }
          sum[1], sum[2], sum[3] = sum[1] + x, sum[2] + y, sum[3] + 1
          sums[i] = sum
        end
        return pairs(sums)
      end)
      :reduce_by_key(function(a, b) return { a[1] + b[1], a[2] + b[2], a[3] + b[3] } end)
      :sort_by_key()
      :collect()
    for i, pair in ipairs(sums) do
      local sum = pair[2]
      sums[i] = { sum[1] / sum[3], sum[2] / sum[3] }
    end
    centroids = sums
  end
  for _, centroid in ipairs(centroids) do print(("%.17g %.17g"):format(centroid[1], centroid[2])) end
end

function jobs.cached(...)
  local path, process = ..., nil
  local words = mr.load(path):flatmap(mr.words):cache()
  print("first:", words:count())
  actor.collective.barrier() -- all have read the file: an action may end before a node has entered it
  if actor.rank == 0 then assert(os.remove(path)) end
  actor.collective.barrier()
  print("again:", words:map(string.upper):count(), words:map(mr.one):reduce_by_key(mr.sum):count())
  words:count()
  print(words:explained():match("tasks' rows were there") or "not reused")
end

function jobs.worker_joins_after_action()
  local rows = require("actor.mapreduce").range(1, 10, 1, 3)
  if actor.rank == 0 then await("done") end
  print("rows:", rows:count())
  if actor.rank == 1 then announce("done") end
  print(rows:explained())
end

jobs[(...)](select(2, ...))
