-- Map-reduce: the first argument selects the job. mapreduce_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local mr = require "actor.mapreduce"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Writes words of few letters, some of them frequent, in lines of every length; the last line has no line end. Returns
-- the text.
local function written(seed, words)
  local rng, out = actor.rng(tonumber(seed)), {}
  for _ = 1, words do
    for _ = 1, rng:int(4) do out[#out + 1] = string.char(96 + math.min(rng:int(6), rng:int(26))) end
    out[#out + 1] = rng:int(9) == 1 and "\n" or rng:int(40) == 1 and " \t\n\n" or " "
  end
  local text = table.concat(out) .. "end"
  if actor.rank == 0 then
    local file = assert(io.open("text", "w"))
    file:write(text)
    file:close()
  end
  actor.collective.barrier()
  return text
end

-- Word counts match a plain loop, by functions in Lua and by native functions.
-- case: counts SEED 400000 within: 60 at: threads:{1,2,3,8}
-- case: counts 7 100000 within: 60 at: isolate hosts
function jobs.counts(seed, words)
  local wanted, distinct = {}, 0
  for word in written(seed, words):gmatch("%S+") do wanted[word] = (wanted[word] or 0) + 1 end
  for _ in pairs(wanted) do distinct = distinct + 1 end
  local in_lua = mr.load("text")
    :flatmap(function(line) return line:gmatch("%S+") end)
    :map(function(word) return word, 1 end)
    :reduce_by_key(function(a, b) return a + b end)
  for _, counts in ipairs { in_lua, mr.load("text"):flatmap(mr.words):map(mr.one):reduce_by_key(mr.sum) } do
    local rows = counts:collect()
    expect.same(#rows, distinct)
    for _, pair in ipairs(rows) do expect.same(pair[2], wanted[pair[1]]) end
  end
end

-- Worker 2 stays in its first record until it is killed. No other worker finishes a task before.
-- case: one_stays kill: stays at: isolate
function jobs.one_stays()
  local sums = mr.range(1, 20000, 1, 40)
    :map(function(i)
      if actor.id == 2 then
        announce("worker 2 stays")
        meeting.stay()
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
  expect.same(total, 100)
end

-- K-means of 4 clusters. With "stay" worker 2 stays in its first partition of iteration 5 until it is killed; no other
-- worker finishes a partition before.
function jobs.means(...)
  local stay = (...) == "stay"
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
            meeting.stay()
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

-- Cached rows survive the removal of their file.
-- case: cached at: threads:{1,3}
function jobs.cached()
  written(3, 5000)
  local words = mr.load("text"):flatmap(mr.words):cache()
  expect.same(words:count(), 5001)
  actor.collective.barrier() -- all have read the file: an action may end before a node has entered it
  if actor.rank == 0 then assert(os.remove("text")) end
  actor.collective.barrier()
  expect.same(words:map(string.upper):count(), 5001)
  words:map(mr.one):reduce_by_key(mr.sum):count()
  words:count()
  assert(words:explained():find("tasks' rows were there", 1, true))
end

-- A worker that enters a completed action has its figures too.
-- case: worker_joins_after_action at: threads:2
function jobs.worker_joins_after_action()
  local rows = mr.range(1, 10, 1, 3)
  if actor.rank == 0 then await("done") end
  expect.same(rows:count(), 10)
  if actor.rank == 1 then announce("done") end
  assert(rows:explained():find("mapreduce.count: ", 1, true))
end

jobs[(...)](select(2, ...))
