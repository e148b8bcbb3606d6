-- Batches that a loader's thread gathers beside batches that the script gathers, in turns: rows of --width numbers,
-- taken from --rows rows in random order, with --work products of a batch and a matrix between two batches. Shows wall
-- times, which a loader shortens only with an idle core, and processor times of the script's thread.
local actor = require "actor"
local ffi = require "ffi"
local data, tensor = actor.data, actor.tensor
local opt = actor.options { rows = 20000, width = 3072, batch = 128, work = 1, turns = 7, ahead = 2 }

local images = data.digits { n = 20000, seed = 1 }
local set = tensor.normal({ opt.rows, opt.width }, { seed = 1 })
local sources = { wide = set, digits = images.images }
local plan, weights = {}, {}
for name, source in pairs(sources) do
  plan[name] = data.batches { n = #source, size = opt.batch }
  weights[name] = tensor.normal({ name == "wide" and opt.width or 784, 64 }, { seed = 2 })
end

local function work(name, x)
  local sum = 0
  for _ = 1, opt.work do sum = sum + x:matmul(weights[name]):get(1, 1) end
  return sum
end

ffi.cdef [[
  typedef struct { long seconds, nanoseconds; } loader_bench_time;
  int clock_gettime(int clock, loader_bench_time* time);
]]
local time = ffi.new("loader_bench_time[1]")

local function thread_time()
  ffi.C.clock_gettime(3, time) -- CLOCK_THREAD_CPUTIME_ID
  return tonumber(time[0].seconds) + tonumber(time[0].nanoseconds) * 1e-9
end

local ways = {}

function ways.script(name)
  local sum = 0
  for number = 1, plan[name]:count() do
    sum = sum + work(name, data.batch(sources[name], plan[name]:positions(number)))
  end
  return sum
end

function ways.loader(name)
  local sum = 0
  for x in data.loader { set = sources[name], plan = plan[name], ahead = opt.ahead } do sum = sum + work(name, x) end
  return sum
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

for _, name in ipairs { "wide", "digits" } do
  local ratios, cpu, sums = {}, { script = {}, loader = {} }, {}
  for turn = 0, opt.turns do
    local took = {}
    for _, way in ipairs { "script", "loader" } do
      local began, began_cpu = actor.now(), thread_time()
      sums[way] = ways[way](name)
      took[way] = actor.now() - began
      if turn > 0 then cpu[way][turn] = (thread_time() - began_cpu) / plan[name]:count() * 1e6 end
    end
    assert(sums.script == sums.loader, "the batches differ")
    if turn > 0 then ratios[turn] = took.loader / took.script end
  end
  local middle = median(ratios)
  local text = "%s: with a loader %.2f of the time (%.2f to %.2f); of the script's thread %.0f us a batch, with a loader %.0f"
  print(text:format(name, middle, ratios[1], ratios[#ratios], median(cpu.script), median(cpu.loader)))
end
