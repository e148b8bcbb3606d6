-- Collectives, call by call: `actorhost -n 2 tests/bench/collectives.lua [operation] [bytes...]`. operation: allreduce
-- (default), broadcast, alltoall, reduce_scatter, allgather or barrier.
-- Each line shows one size: microseconds of a call (the slowest rank's; min, median and 99th percentile), bandwidth as
-- usually defined (algbw = bytes / time; busbw = algbw times the share of the bytes that any algorithm must move over
-- each link), and whether the result is right. `mean` is the mean of calls without a measurement between them, median
-- of 7 batches. `into` is the same with a given tensor for the results (out; inplace for broadcast), as MPI's
-- benchmarks reuse a buffer. The bandwidths are those of `into`.
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local n, me = actor.size, actor.rank

local args = { ... }
local what = args[1] or "allreduce"
local sizes = {}
for i = 2, #args do sizes[#sizes + 1] = assert(tonumber(args[i]), "bytes must be numbers") end
if #sizes == 0 then sizes = { 4, 1024, 65536, 1048576, 26000000, 104857600 } end

local function filled(count, value) return tensor.full({ count }, value) end

-- Each entry: the call, which takes the options; the required value of the last element; the bus factor.
local function on_tensor(operation, last, bus, share, ...)
  local more = { ... }
  return function(count)
    local t = filled(math.max(1, math.floor(count / (share or 1))), me + 1)
    return function(options)
      if #more == 0 then return operation(t, options) end
      return operation(t, more[1], options)
    end, last, bus
  end
end
local sum = n * (n + 1) / 2
local operations = {
  allreduce = on_tensor(co.allreduce, sum, 2 * (n - 1) / n, 1, "sum"),
  broadcast = on_tensor(co.broadcast, 1, 1, 1, 0),
  alltoall = on_tensor(co.alltoall, n, (n - 1) / n),
  reduce_scatter = on_tensor(co.reduce_scatter, sum, (n - 1) / n, 1, "sum"),
  allgather = on_tensor(co.allgather, n, (n - 1) / n, n),
  barrier = function() return function() return co.barrier() end, nil, 0 end,
}
local make = assert(operations[what], "no such operation")

-- The slowest rank's figure, on all ranks.
local function slowest(seconds)
  return co.allreduce(tensor.full({ 1 }, seconds, { dtype = "float64" }), "max"):get(1)
end

local function batch(call, times)
  co.barrier()
  local from = actor.now()
  for _ = 1, times do call() end
  return slowest((actor.now() - from) / times)
end

if me == 0 then
  print(("%-14s %5s %10s %10s %10s %10s %10s %10s %9s %9s"):format(what, "ranks", "bytes", "into us", "mean us", "min", "p50",
    "p99", "algbw", "busbw"))
end
for _, bytes in ipairs(sizes) do
  local call, last, bus = make(math.max(n, math.floor(bytes / 4)))
  for _ = 1, 10 do call() end
  local once = batch(call, 3)
  local times = math.max(3, math.min(20000, math.floor(0.1 / once)))
  local means, single = {}, {}
  for i = 1, 7 do means[i] = batch(call, times) end
  local result = call()
  local options = what == "broadcast" and { inplace = true } or { out = what ~= "barrier" and result or nil }
  local into = {}
  for i = 1, 7 do into[i] = batch(function() return call(options) end, times) end
  for i = 1, math.max(20, math.min(2000, times)) do
    co.barrier()
    local from = actor.now()
    result = call()
    single[i] = actor.now() - from
  end
  table.sort(means)
  table.sort(into)
  table.sort(single)
  local min, p50 = slowest(single[1]), slowest(single[math.ceil(#single / 2)])
  local p99 = slowest(single[math.ceil(#single * 0.99)])
  local right = last == nil or (result.size > 0 and result:get(result.size) == last)
  assert(right, "wrong result")
  if me == 0 then
    print(("%-14s %5d %10d %10.2f %10.2f %10.2f %10.2f %10.2f %9.3f %9.3f"):format("", n, bytes, into[4] * 1e6, means[4] * 1e6,
      min * 1e6, p50 * 1e6, p99 * 1e6, bytes / into[4] / 1e9, bytes / into[4] / 1e9 * bus))
  end
end
