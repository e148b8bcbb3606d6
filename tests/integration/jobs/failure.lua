-- Jobs of failure_test.cpp; the first argument selects the job.
local actor = require "actor"
local each = require "each_worker"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Counts the merges of each batch. Worker 2 stays in its first push and prints its process id; no other worker finishes
-- a batch before, so that worker 2 gets one. The run does not wait for the killed worker, and the others do its batch.
-- case: one_stops kill: stays within: 3 flags: --barrier {bsp,ssp:1,asp,pbsp:2,pssp:2:4,quorum:0.8:1,backup:1} at: isolate
function jobs.one_stops()
  local param, data, tensor = actor.param, actor.data, actor.tensor
  local batches = data.batches { n = 60, size = 2 }
  local summary = param.run {
    init = function() return { counts = tensor.zeros(batches:count()) } end,
    schedule = function(workers)
      local tasks = {}
      for _, id in ipairs(workers) do
        batches:done(id)
        local number = batches:next(id)
        if number then tasks[id] = { { "batch", number } } end
      end
      return tasks
    end,
    push = function(ctx, entries)
      if ctx.id == 2 then
        announce("worker 2 stays")
        meeting.stay()
      end
      await("worker 2 stays")
      local one = tensor.zeros(batches:count())
      one:set(entries[1][2], 1)
      return { { "counts", one } }
    end,
    pull = actor.optim.add(),
    lost = function(id, entries)
      if #entries > 0 then batches:lost(id) else batches:done(id) end
    end,
    stop = function(ctx) return ctx.updates >= batches:count() end,
  }
  local counts = param.get("counts")
  assert(counts:min() == 1 and counts:max() == 1 and summary.updates == 30 and summary.lost == 1)
end

-- Runs until it is terminated; every worker prints its process id once the engine runs.
function jobs.endless()
  local process = io.open("/proc/self/stat"):read("*n")
  local started = false
  actor.param.run {
    schedule = each(function(id) return { { "work", id } } end),
    push = function(ctx)
      if not started then actor.log.info("worker %d works in process %d.", ctx.id, process) end
      started = true
      return { { ctx.id, true } }
    end,
    stop = function() return false end,
  }
end

-- The job's first argument selects a failure.
function jobs.trouble()
  local what = actor.args[2]

  local function run(push)
    return actor.param.run {
      schedule = each(function(id) return { { "work", id } } end),
      push = push or function(ctx) return { { ctx.id, true } } end,
      stop = function(ctx) return ctx.step >= 10 end,
    }
  end

  if what == "push" then
    run(function(ctx)
      if ctx.id == 1 then error("spilt milk") end
      return { { ctx.id, true } }
    end)
  elseif what == "top" then
    if actor.rank == 1 then error("spilt milk") end
    actor.collective.barrier()
  elseif what == "ends early" then
    if actor.rank == 1 then return end
    run()
  elseif what == "ends before a barrier" then
    if actor.rank == 1 then return end
    actor.collective.barrier()
  elseif what == "another operation" then
    if actor.rank == 1 then actor.collective.barrier()
    else actor.collective.allreduce(actor.tensor.zeros(3)) end
  elseif what == "another shape" then
    actor.collective.allreduce(actor.tensor.zeros(actor.rank == 1 and 4 or 3))
  elseif what == "an action against a collective" then
    if actor.rank == 1 then actor.collective.barrier()
    else run() end
  elseif what == "one action more" then
    run()
    if actor.role == "server" or actor.rank ~= 1 then run() end
  else
    print("nothing is wrong")
  end
end

function jobs.when_coordinator_is_killed_others()
  if actor.rank > 0 then
    io.stderr:write("spins\n")
    while true do end
  end
  actor.collective.barrier()
end

function jobs.error_of_callback_of_param_run_ends_run(...)
  local at = ...
  local function boom(where) if where == at then error("boom in " .. where) end end
  local ok = pcall(actor.param.run, {
    init = function() boom "init" return { w = 0 } end,
    schedule = function(workers)
      boom "schedule"
      return each(function() return { { "w" } } end)(workers)
    end,
    push = function()
      if at == "within" then actor.param.run { push = print, schedule_local = print, stop = print } end
      if actor.rank == 1 then boom "push" end
      return { { "w", 1 } }
    end,
    pull = function() boom "pull" return { { "w", 1 } } end,
    barrier = function() boom "rule" return true end,
    stop = function() boom "stop" return false end,
  })
  print("caught", ok)
end

jobs[(...)](select(2, ...))
