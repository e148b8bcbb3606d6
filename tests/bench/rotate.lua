-- Rotation beside compute: `actorhost -n 2 [--isolate] tests/bench/rotate.lua [MB [partitions [slices]]]`.
-- A model of 26 MB in 100 partitions rotates through the ranks in two slices: by itself (alone); while each visit
-- computes as long as the rotation takes, or 5 ms (both); beside the same compute without a rotation (compute). `busy`
-- computes on its core; `idle` sleeps, like a worker whose accelerator computes. The table shows milliseconds of a
-- round, the least of 9 of the slowest rank's. `rounds`: the number of rounds without a break. `copies`: whether a
-- failed round restores the previous values (restore). `cpu` compares processor time instead of wall time, so other
-- load on the machine does not affect it. At the end all values are checked.
local actor = require "actor"
local ffi = require "ffi"
ffi.cdef [[
int usleep(unsigned microseconds);
struct rotate_time { long seconds, nanoseconds; };
int clock_gettime(int clock, struct rotate_time *time);
]]
local co, tensor = actor.collective, actor.tensor
local n, me = actor.size, actor.rank

local args = { ... }
local bytes, parts, slices = (tonumber(args[1]) or 26) * 1e6, tonumber(args[2]) or 100, tonumber(args[3]) or 2
local elements, times = math.floor(bytes / parts / 4), 9

local function of_all(value, op) return co.allreduce(tensor.full({ 1 }, value, { dtype = "float64" }), op):get(1) end

-- Wall and processor seconds of the best time.
local function least(fn)
  local best, work = math.huge, math.huge
  for _ = 1, times do
    co.barrier()
    local from, worked = actor.now(), os.clock()
    fn()
    local seconds = of_all(actor.now() - from, "max")
    best, work = math.min(best, seconds), math.min(work, of_all(os.clock() - worked, "sum"))
  end
  return best, work
end

-- Processor seconds of this thread.
local time, thread_clock = ffi.new("struct rotate_time"), 3
local function worked()
  ffi.C.clock_gettime(thread_clock, time)
  return tonumber(time.seconds) + tonumber(time.nanoseconds) * 1e-9
end

local sink = 1
local computes = {
  busy = function(seconds)
    local till = worked() + seconds
    while worked() < till do
      for i = 1, 1000 do sink = sink * 0.999 + i end
    end
  end,
  idle = function(seconds) ffi.C.usleep(seconds * 1e6) end,
}

-- Prints one line for each kind of compute.
local function measure(restore, rounds)
  local model, visits = co.table(), 0
  for id = me, parts - 1, n do model:set(id, tensor.full({ elements }, id)) end
  local rotator = co.rotator { table = model, slices = slices, restore = restore }
  local function go(compute, seconds)
    assert(rotator:round(function(slice)
      if compute then compute(seconds) end
      for _, part in slice:pairs() do part:set(1, part:get(1) + 1) end
      visits = visits + 1
    end, { rounds = rounds }))
  end
  go()
  local alone = least(go) / rounds
  for _, each in ipairs { alone / (n * slices), 0.005 } do
    for _, name in ipairs { "busy", "idle" } do
      local compute, work = least(function()
        for _ = 1, rounds * n * slices do computes[name](each) end
      end)
      local both, more = least(function() go(computes[name], each) end)
      print(("%-6s %6d %-5s %9.2f %9.2f %9.2f %9.2f %8.2fx %9s"):format(restore and "yes" or "no", rounds, name, alone * 1e3,
        bytes / alone / 1e9, compute / rounds * 1e3, both / rounds * 1e3, both / compute,
        name == "busy" and ("%8.2fx"):format(more / work) or ""))
    end
  end
  visits = visits / (n * slices)
  for id, part in model:pairs() do
    assert(part:get(1) == id + visits * n and part:get(elements) == id, "a value is wrong after the rounds")
  end
end

print(("%d ranks, %.0f MB in %d partitions, %d slices"):format(n, bytes / 1e6, parts, slices))
print(("%-6s %6s %-5s %9s %9s %9s %9s %9s %9s"):format("copies", "rounds", "", "alone", "GB/s", "compute", "both", "ratio", "cpu"))
for _, restore in ipairs { true, false } do
  for _, rounds in ipairs { 1, 10 } do measure(restore, rounds) end
end
