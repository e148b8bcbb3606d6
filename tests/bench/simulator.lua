-- The simulator as whole commands: beside SimPy and a loop in C (where available), with -j 2 beside -j 1, and replays
-- of recorded runs beside the measurements. Usage, in the root of the tree:
--   actorhost -n 1 --log-level warn tests/bench/simulator.lua [loops|jobs|replay|all [TURNS]]
-- TURNS: turns of each side (3), and recorded runs (20). SimPy needs python3-simpy3; the loop needs cc.
local actor = require("actor")
local which, turns = ...
which, turns = which or "all", tonumber(turns)

local function capture(command)
  local pipe = assert(io.popen(command))
  local out = pipe:read("*a")
  pipe:close()
  return out
end

local program = capture("readlink /proc/$PPID/exe"):match("[^\n]+")
local scratch = capture("mktemp -d"):match("[^\n]+")

-- The output of a yardstick, steps and seconds; nothing if it fails.
local function yardstick(command)
  local steps, seconds = capture(command .. " 2>/dev/null"):match("^(%d+) (%S+)")
  return steps and tonumber(steps) / tonumber(seconds)
end

-- Steps a second of our whole command, from its table.
local function ours(rule, nodes, time)
  local from = actor.now()
  local out = capture(("%s sim --barrier %s --nodes %d --time %d --seed 1 --no-progress --csv -"):format(program, rule, nodes, time))
  local seconds = actor.now() - from
  local names, values = {}, {}
  for line in out:gmatch("[^\n]+") do
    if line:sub(1, 1) ~= "#" then
      local into = #names == 0 and names or values
      for field in (line .. ","):gmatch("([^,]*),") do into[#into + 1] = field end
    end
  end
  for i, name in ipairs(names) do
    if name == "updates" then return tonumber(values[i]) / seconds end
  end
  error("no column 'updates' in the table: " .. out)
end

local function loops()
  local loop = scratch .. "/loop"
  local has_loop = os.execute(("cc -O3 -march=native -o %s tests/bench/simulator_loop.c -lm 2>/dev/null"):format(loop)) == 0
  local python
  for _, name in ipairs { "python3", "/usr/bin/python3" } do
    if not python and os.execute(name .. " -c 'import simpy' 2>/dev/null") == 0 then python = name end
  end
  if not has_loop then print("no C compiler: no loop in C") end
  if not python then print("SimPy is not installed: no yardstick") end
  print("million steps a second       ours, whole command   C loop   SimPy   ours / C   ours / SimPy")
  for _, figure in ipairs { { "bsp", 1000, 20000 }, { "pbsp:10", 1000, 2000 } } do
    local rule, nodes, time = unpack(figure)
    local best = {}
    for _ = 1, turns or 3 do
      local name = rule:match("^%w+")
      local sides = {
        ours = ours(rule, nodes, time),
        loop = has_loop and yardstick(("%s %d %d %s"):format(loop, nodes, math.ceil(time / 10), name)),
        simpy = python and yardstick(("%s tests/bench/simulator_simpy.py %d %d %s"):format(python, nodes, math.ceil(time / 100), name)),
      }
      for side, value in pairs(sides) do best[side] = value and math.max(best[side] or 0, value) end
    end
    local function show(value, format, by) return value and (format or "%.3f"):format(value / (by or 1e6)) or "-" end
    print(("%-8s %6d nodes %6d s %20s %8s %7s %10s %14s"):format(rule, nodes, time, show(best.ours), show(best.loop),
      show(best.simpy), show(best.loop and best.ours, "%.2fx", best.loop), show(best.simpy and best.ours, "%.0fx", best.simpy)))
  end
end

local function jobs()
  local command = program .. " sim --barrier bsp,ssp:4,asp,pbsp:10,pssp:10:4 --nodes 1000 --time 400 --repeat 4 --no-progress --csv - -j %d"
  local least, same = {}, true
  local first
  for _ = 1, turns or 3 do
    for j = 1, 2 do
      local from = actor.now()
      local out = capture(command:format(j)):gsub("#[^\n]*\n", "")
      least[j] = math.min(least[j] or math.huge, actor.now() - from)
      first = first or out
      same = same and out == first
    end
  end
  print(("20 runs of 1,000 nodes: -j 1 %.2f s, -j 2 %.2f s, %.2fx; tables %s"):format(least[1], least[2], least[1] / least[2],
    same and "equal" or "DIFFER"))
end

local job = [[
local actor = require("actor")
actor.param.run {
  schedule = function(workers)
    local tasks = {}
    for _, id in ipairs(workers) do tasks[id] = { { "work", id } } end
    return tasks
  end,
  push = function(ctx) return { { ctx.id, true } } end,
  stop = function(ctx) return ctx.seconds >= 1.5 end,
}
]]

local function replay()
  local file = assert(io.open(scratch .. "/job.lua", "w"))
  file:write(job)
  file:close()
  local rules, within, worst, count = { "bsp", "ssp:4", "pbsp:2", "asp" }, 0, 0, turns or 20
  for i = 1, count do
    local rule = rules[(i - 1) % #rules + 1]
    local trace = ("%s/%d.csv"):format(scratch, i)
    capture(("%s -n 4 --log-level error --no-progress --seed %d --barrier %s --inject 'delay=gamma(2,0.01),straggler=0.25:3x' --record %s %s/job.lua 2>&1")
      :format(program, i, rule, trace, scratch))
    local output = capture(("%s sim --replay %s --barrier %s --no-progress 2>&1"):format(program, trace, rule))
    local off = tonumber(output:match("steps, ([+-]?[%d.]+) %% of the measured ones")) or error("no comparison in: " .. output)
    within = within + (math.abs(off) <= 10 and 1 or 0)
    worst = math.abs(off) > math.abs(worst) and off or worst
    print(("run %d, %s: simulated steps %+.1f %% of the measured ones"):format(i, rule, off))
  end
  print(("replay: %d of %d runs within 10 %%, the furthest %+.1f %%"):format(within, count, worst))
end

local figures = { loops = loops, jobs = jobs, replay = replay }
for _, name in ipairs { "loops", "jobs", "replay" } do
  if which == "all" or which == name then figures[name]() end
end
os.execute("rm -r " .. scratch)
