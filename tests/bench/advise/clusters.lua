-- Whether `actorhost advise` finds the best rules on clusters that it has not seen: 20 rehearsed clusters with workers of
-- different speeds. For each, records a minute of a real job, asks advise, and runs the job under every barrier rule,
-- with the merge rule that advise ranks first and with `all`, and under the next pairs of the ranking.
--
--   actorhost -n 1 tests/bench/advise/clusters.lua PROGRAM [--first N] [--last N] [--seeds N]
--
-- Prints for each cluster the measured best, the advised pair, and how much longer the advised pair takes. The goal:
-- at most 5 % longer on 18 of 20 clusters.
local actor = require "actor"
local candidates = require "actor.sim.candidates"
if actor.rank ~= 0 then return end

local opt = actor.options { "PROGRAM", first = 1, last = 20, seeds = 5, top = 3 }
local job = "tests/bench/advise/job.lua"
local limit = 300

local speeds = { "equal", "exponential", "pareto", "straggler", "groups", "lognormal", "changing" }
local recorded_rules = { "bsp", "asp", "ssp:4" }

-- Cluster number k: its workers, their speeds, the rule of the recording, the rate and the target.
local function cluster_of(k)
  local workers = ({ 4, 8, 16 })[(k - 1) % 3 + 1]
  return {
    number = k, workers = workers, speeds = speeds[(k - 1) % #speeds + 1], recorded = recorded_rules[(k + math.floor(k / 3)) % 3 + 1],
    rate = ({ 0.3, 0.6, 1 })[math.floor((k - 1) / 7) + 1] / workers, loss = 0.08,
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

-- The mean seconds to the target; a run that does not reach it counts with the limit.
local function measured(cluster, barrier, merge)
  local sum = 0
  for seed = 1001, 1000 + opt.seeds do
    local output = run(rehearsal(cluster, seed, ("--barrier %s --merge %s"):format(barrier, merge)))
    local found = output:match("reached (%S+)")
    assert(found, output)
    sum = sum + (tonumber(found) or limit)
  end
  return sum / opt.seeds
end

-- The pairs that advise ranks first, the best first; recorded from a run with seed `seed`.
local function advised(cluster, seed)
  local trace = os.tmpname() .. ".csv"
  local output = run(rehearsal(cluster, seed, ("--seconds 60 --record %s --barrier %s"):format(trace, cluster.recorded)):gsub(
    "%-%-loss %S+", "--loss 0"))
  local report = run(("advise --json --train 'linear rate=%.4g' --target loss=%.4g --time 120 %s"):format(cluster.rate,
    cluster.loss, trace))
  os.remove(trace)
  local pairs_ = {}
  for barrier, merge in report:gmatch('"barrier":"([^"]+)".-"merge":"([^"]+)"') do pairs_[#pairs_ + 1] = { barrier, merge } end
  assert(#pairs_ > 0, output .. report)
  return pairs_
end

local good = 0
for k = opt.first, opt.last do
  local cluster = cluster_of(k)
  local best, seconds, name = advised(cluster, k), math.huge, nil
  local times = {}
  local function measure(barrier, merge)
    local key = barrier .. " " .. merge
    times[key] = times[key] or measured(cluster, barrier, merge)
    if times[key] < seconds then seconds, name = times[key], key end
    return times[key]
  end
  local own = measure(best[1][1], best[1][2])
  for i = 2, math.min(opt.top, #best) do measure(best[i][1], best[i][2]) end
  for _, barrier in ipairs(candidates.barriers(cluster.workers, 0.5)) do
    measure(barrier, "all")
    measure(barrier, best[1][2])
  end
  good = good + (own <= 1.05 * seconds and 1 or 0)
  print(("%2d  %2d workers, %-11s recorded %-5s rate %.3g: best %s %.1f s, advised %s %.1f s (%+.1f %%)"):format(k,
    cluster.workers, cluster.speeds, cluster.recorded, cluster.rate, name, seconds, best[1][1] .. " " .. best[1][2], own,
    100 * (own / seconds - 1)))
end
print(("within 5 %% of the measured best on %d of %d clusters; %d seeds each"):format(good, opt.last - opt.first + 1, opt.seeds))
