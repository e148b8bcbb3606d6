-- Jobs of memory_test.cpp; the first argument selects the job.
local actor = require "actor"

local jobs = {}

-- Resident memory in MB.
local function resident()
  for _ = 1, 2 do collectgarbage() end
  for line in io.lines("/proc/self/status") do
    local kilobytes = line:match("^VmRSS:%s*(%d+)")
    if kilobytes then return kilobytes / 1024 end
  end
end

-- `how` the handles of ended sessions are held: "kept" or "weak".
function jobs.averaging(how)
  local handles = setmetatable({ n = 0 }, { __mode = how == "weak" and "v" or nil })
  local model, before = actor.tensor.zeros(1000000), 0
  for i = 1, 30 do
    local handle = actor.average.start(model, { sync_interval_ms = 1 })
    handle:step(function() end)
    handle:abort()
    handles[i] = handle
    if i == 10 then before = resident() end
  end
  handles[30]:resume() -- the handle still works
  handles[30]:step(function() model:add_(1) end)
  handles[30]:abort()
  assert(model:mean() == 1)
  print("grown by " .. resident() - before)
end

function jobs.answers()
  local mr, before = require "actor.mapreduce", 0
  for i = 1, 200 do
    assert(mr.range(1, 4000, 1, 1000):count() == 4000)
    if i == 50 then before = resident() end
  end
  print("grown by " .. resident() - before)
end

jobs[(...)](select(2, ...))
