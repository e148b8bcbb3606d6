-- The overhead of the host with almost no work: `actorhost -n 2 [--isolate] --log-level warn
-- tests/bench/small_steps.lua [figure...]`.
-- Each line shows one figure: microseconds of an operation, in wall time and in processor time (all threads of rank 0's
-- process), each the median of 7 batches.
local actor = require "actor"
local mr = require "actor.mapreduce"
local co, param, tensor = actor.collective, actor.param, actor.tensor
local small, mebi, rows = tensor.zeros(2), tensor.zeros(262144), {}
for i = 1, 1000 do rows[i] = i end

-- Each entry: a name, the number of operations of a batch, and the operation.
local engines = {
  { "allreduce of 8 B", 5000, function() co.allreduce(small) end },
  { "allreduce of 1 MiB", 200, function() co.allreduce(mebi, "sum", { out = mebi }) end },
  { "broadcast of 8 B", 5000, function() co.broadcast(small, 0) end },
  { "barrier", 5000, function() co.barrier() end },
  { "lock", 2000, function(i) co.lock({ "name " .. i }, function() end) end },
  { "event there", 2000, function(i) co.send_event("one", i, { to = actor.rank }) co.wait_event("one") end },
  { "get of a small key", 500, function() param.get("x") end },
  { "set of a small key", 500, function(i) param.set("x", i) end },
  { "map-reduce of 1,000 rows", 20, function() mr.parallelize(rows, 2):map(function(x) return x + 1 end):sum() end },
}

local function steps(values, barrier)
  return function(times)
    param.run {
      init = function() return { w = values } end, barrier = barrier,
      schedule_local = function() return { "w" } end,
      push = function(_, entries) return { { "w", entries[1][2] } } end,
      pull = actor.optim.sgd { lr = 0 }, shared = true,
      stop = function(ctx) return ctx.step >= times end,
    }
  end
end
local runs = {
  { "step of 8 B, asp", 1000, steps(small, "asp") }, { "step of 8 B, bsp", 500, steps(small, "bsp") },
  { "step of 26 MB, asp", 10, steps(tensor.zeros(6500000), "asp") },
}

local wanted = {}
for _, name in ipairs { ... } do wanted[name] = true end

local function measure(name, times, batch)
  if next(wanted) and not wanted[name] then return end
  local took, processor = {}, {}
  for i = 0, 7 do -- the first batch is not counted
    if actor.role == "worker" then co.barrier() end
    local from, used = actor.now(), os.clock()
    batch(times)
    took[i], processor[i] = (actor.now() - from) / times * 1e6, (os.clock() - used) / times * 1e6
  end
  table.sort(took)
  table.sort(processor)
  if actor.role == "worker" and actor.rank == 0 then
    print(("%-26s %10.2f us %10.2f us of the processor"):format(name, took[4], processor[4]))
  end
end

for _, run in ipairs(runs) do measure(run[1], run[2], run[3]) end -- servers run these, too, and stay in the last run
for _, engine in ipairs(engines) do
  measure(engine[1], engine[2], function(times) for i = 1, times do engine[3](i) end end)
end
