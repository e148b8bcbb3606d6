-- Whether `actorhost advise` finds the best rules on clusters that it has not seen: 20 rehearsed clusters, with workers
-- of different speeds. For each, records a minute of a real job, asks advise, and runs the job under every barrier
-- rule, with the merge rule that advise ranks first and with `all`, and under the next pairs of the ranking.
--
--   actorhost -n 1 tests/bench/advise/clusters.lua PROGRAM [--first N] [--last N] [--seeds N]
--
-- Prints for each cluster the measured best, the advised pair, and how much longer the advised pair takes. The goal:
-- at most 5 % longer on 18 of 20 clusters.
local actor = require "actor"
local candidates = require "actor.sim.candidates"
if actor.rank ~= 0 then return end

local opt = actor.options { "PROGRAM", first = 1, last = 20, seeds = 20, top = 3 }
local job = "tests/bench/advise/job.lua"
local limit = 100     -- seconds of a run
local few, near = 5, 1.2 -- runs of each pair; pairs within this factor of the best get all runs

local speeds = { "equal", "exponential", "pareto", "straggler", "groups", "lognormal", "changing" }
local recorded_rules = { "bsp", "asp", "ssp:4" }

-- Cluster number k: its workers, their speeds, the rule of the recording, the rate and the target.
local function cluster_of(k)
  local workers = ({ 4, 8, 16 })[(k - 1) % 3 + 1]
  return {
    number = k, workers = workers, speeds = speeds[(k - 1) % #speeds + 1], recorded = recorded_rules[(k + math.floor(k / 3)) % 3 + 1],
    rate = ({ 0.6, 1.4, 1.9 })[math.floor((k - 1) / 7) + 1] / workers, loss = k <= 7 and 0.08 or 0.15,
  }
end

local function run(words)
  local pipe = assert(io.popen(opt[1] .. " " .. words .. " 2>&1"))
  local output = pipe:read("*a")
  pipe:close()
  return output
end

-- The words of a rehearsal of the job.
local function rehearsal(cluster, seed, flags)
  return ("rehearse --hosts %d -n 1 --seed %d --compute 0 %s %s --speeds %s --rate %.4g --loss %.4g --limit %d"):format(
    cluster.workers, seed, flags, job, cluster.speeds, cluster.rate, cluster.loss, limit)
end

-- Adds runs to the results of a pair, up to `count`, and returns the mean seconds to the target. A run that does not
-- reach it counts with the limit.
local function measure(cluster, pair, count)
  while #pair.times < count do
    local output = run(rehearsal(cluster, 1001 + #pair.times, ("--barrier %s --merge %s"):format(pair.barrier, pair.merge)))
    local found = output:match("reached (%S+)")
    assert(found, output)
    pair.times[#pair.times + 1] = tonumber(found) or limit
  end
  local sum = 0
  for _, time in ipairs(pair.times) do sum = sum + time end
  return sum / #pair.times
end

-- The pairs that advise ranks first, the best first; recorded from a run with seed `seed`.
local function advised(cluster, seed)
  local trace = os.tmpname() .. ".csv"
  local output = run(rehearsal(cluster, seed, ("--seconds 60 --record %s --barrier %s"):format(trace, cluster.recorded)):gsub(
    "%-%-loss %S+", "--loss 0"))
  local report = run(("advise -j 1 --json --train 'linear rate=%.4g' --target loss=%.4g --time 60 %s"):format(cluster.rate,
    cluster.loss, trace))
  os.remove(trace)
  local pairs_ = {}
  for barrier, merge in report:gmatch('"barrier":"([^"]+)".-"merge":"([^"]+)"') do pairs_[#pairs_ + 1] = { barrier, merge } end
  assert(#pairs_ > 0, output .. report)
  return pairs_
end

-- The best of the pairs by `count` runs, and its time.
local function best_of(cluster, pairs_, count)
  local seconds, best = math.huge, nil
  for _, pair in ipairs(pairs_) do
    local time = measure(cluster, pair, count)
    if time < seconds then seconds, best = time, pair end
  end
  return seconds, best
end

local good = 0
for k = opt.first, opt.last do
  local cluster = cluster_of(k)
  local ranked, pairs_, known = advised(cluster, k), {}, {}
  local function add(barrier, merge)
    local key = barrier .. " " .. merge
    if known[key] then return end
    known[key] = true
    pairs_[#pairs_ + 1] = { barrier = barrier, merge = merge, times = {} }
  end
  for i = 1, math.min(opt.top, #ranked) do add(ranked[i][1], ranked[i][2]) end
  for _, barrier in ipairs(candidates.barriers(cluster.workers, 0.5)) do
    add(barrier, "all")
    add(barrier, ranked[1][2])
  end
  local first = best_of(cluster, pairs_, few)
  local close = { pairs_[1] } -- the advised pair
  for i = 2, #pairs_ do
    if measure(cluster, pairs_[i], few) <= near * first then close[#close + 1] = pairs_[i] end
  end
  local seconds, best = best_of(cluster, close, opt.seeds)
  local own = measure(cluster, pairs_[1], opt.seeds)
  good = good + (own <= 1.05 * seconds and 1 or 0)
  print(("%2d  %2d workers, %-11s recorded %-5s rate %.3g: best of %d: %s %s %.2f s, advised %s %s %.2f s (%+.1f %%)"):format(k,
    cluster.workers, cluster.speeds, cluster.recorded, cluster.rate, #pairs_, best.barrier, best.merge, seconds,
    pairs_[1].barrier, pairs_[1].merge, own, 100 * (own / seconds - 1)))
end
print(("within 5 %% of the measured best on %d of %d clusters"):format(good, opt.last - opt.first + 1))
