-- For sections_test.cpp: runs for status clients. sections.lua JOB FILE; the runs last until FILE exists.
local actor = require "actor"
local meeting = require "meeting"
local jobs = {}

local function await(file)
  while not meeting.is_there(file) do actor.sleep(0.005) end
end

-- Worker 1 stays in its third step, and the other workers wait for it.
function jobs.param(file)
  local pushes = 0
  if actor.rank == 0 then actor.log.warn("ready to %s", "push") end
  actor.param.run {
    init = function() return { w1 = actor.tensor.zeros { 4, 3 }, name = "text" } end,
    barrier = actor.barrier.ssp(1),
    schedule_local = function() return { "w1" } end,
    push = function(ctx)
      pushes = pushes + 1
      actor.report("loss", pushes == 1 and 0 / 0 or 1 / pushes, pushes)
      if ctx.id == 0 then actor.report("only once", 7) end
      if ctx.id == 1 and pushes == 3 then await(file) end
      return { { "w1", actor.tensor.ones { 4, 3 } } }
    end,
    pull = actor.optim.add(),
    stop = function(ctx) return ctx.step >= 6 end,
  }
end

-- One of eight tasks stays.
function jobs.stages(file)
  local mr = require "actor.mapreduce"
  local count = mr.parallelize({ 1, 2, 3, 4, 5, 6, 7, 8 }, 8)
    :map(function(i)
      if i == 5 then await(file) end
      return i % 2, i
    end)
    :reduce_by_key(function(a, b) return a + b end)
    :count()
  if actor.rank == 0 then print(count) end
  await(file .. "2")
end

-- Arguments that actor.report refuses, and series over its limit.
function jobs.reports()
  for _, args in ipairs { { 7, 1 }, { "loss", "much" }, { "loss", 1, "first" }, { "loss" } } do
    print(select(2, pcall(actor.report, unpack(args, 1, 3))))
  end
  for i = 1, 66 do actor.report("series " .. i, i) end
  actor.report("series 66", 1)
end

jobs[(...)](select(2, ...))
