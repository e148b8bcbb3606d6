-- For chunks_test.cpp: runs that receive chunks. chunks.lua JOB [...]
local actor = require("actor")
local each = require "each_worker"
local jobs = {}

answer = 42
going = true

-- Runs a loop `turns` times.
function spin(turns)
  local n = 0
  for _ = 1, turns do n = n + 1 end
  return n
end

-- Waits, with `spin` compiled, until a chunk clears `going`.
function jobs.compiled()
  for _ = 1, 200 do spin(1000) end
  while going do actor.sleep(0.01) end
  if actor.rank == 0 then print("compiles", (jit.status())) end
end

-- Waits until a chunk clears `going`; then calls the functions that a chunk has defined.
function jobs.functions()
  while going do actor.sleep(0.01) end
  print("read", select(2, pcall(read)))
  print("wrote", pcall(write, "new"), rawget(_G, "name"))
end

-- Waits in an all-reduce for the last rank, which sleeps until a chunk clears `going`.
function jobs.allreduce()
  if actor.rank == actor.size - 1 then
    while going do actor.sleep(0.01) end
  end
  local sum = actor.collective.allreduce(actor.tensor.full({ 4 }, 1), "sum")
  if actor.rank == 0 then print("sum", sum:get(1), answer) end
end

-- Counts on the parameter server until a chunk clears `going`.
function jobs.param()
  local summary = actor.param.run {
    init = function() return { w = actor.tensor.zeros { 3 } } end,
    schedule = each(function() return { { "w" } } end),
    push = function()
      actor.sleep(0.001)
      return { { "w", actor.tensor.full({ 3 }, 1) } }
    end,
    pull = actor.optim.add(),
    barrier = "bsp",
    stop = function() return not going end,
  }
  if actor.rank == 0 then print("ended by " .. summary.reason) end
end

-- Counts rows until a chunk clears `going`; continues after the loss of a node.
function jobs.mapreduce()
  local rows = actor.mapreduce.range(1, 1000):map(function(x) return 2 * x end)
  local on
  repeat
    rows:count()
    on = actor.collective.allreduce(actor.tensor.full({ 1 }, going and 1 or 0), "min")
  until on and on:get(1) == 0
  if actor.rank == 0 then print("done") end
end

-- Runs the received chunks.
function jobs.wait()
  require("actor.c.console").wait()
  print("waited")
end

local name = ...
jobs[name](select(2, ...))
if name ~= ... then error("the local variable 'name' has changed") end
