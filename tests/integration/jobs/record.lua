-- Jobs of record_test.cpp, and rehearsals that check their own trace; the first argument selects the job.
local actor = require "actor"
local each = require "each_worker"
local meeting = require "meeting"

local jobs = {}

-- Empty work, for some steps in some runs, or until worker `until_worker` has pushed. Push number `stay` of each worker
-- takes `seconds`.
function jobs.job()
  local opt = actor.options { "JOB", steps = 5, runs = 1, stay = 0, seconds = 0, until_worker = -1 }
  local pushes = 0

  local function has_worked(wanted)
    for _, id in ipairs(actor.param.keys()) do
      if id == wanted then return true end
    end
    return false
  end

  for run = 1, opt.runs do
    local summary = actor.param.run {
      schedule = each(function(id) return { { "work", id } } end),
      push = function(ctx)
        pushes = pushes + 1
        if pushes == 1 then actor.log.info("worker %d works.", ctx.id) end
        if pushes == opt.stay then actor.sleep(opt.seconds) end
        return { { ctx.id, true } }
      end,
      stop = function(ctx) return opt.steps > 0 and ctx.step >= opt.steps or has_worked(opt.until_worker) end,
    }
    print(("run %d: %d updates"):format(run, summary.updates))
  end
end

-- Steps, collectives and tasks.
function jobs.everything()
  actor.param.run {
    schedule_local = function() return {} end,
    push = function(ctx)
      actor.sleep(0.002)
      return { { ctx.id, true } }
    end,
    stop = function(ctx) return ctx.step >= 5 end,
  }
  for _ = 1, 3 do
    if actor.rank == 1 then actor.sleep(0.002) end
    actor.collective.allreduce(actor.tensor.ones(4))
  end
  actor.mapreduce.parallelize({ 1, 2, 3, 4, 5, 6 }, 6):map(function(i) return i + 1 end):count()
end

-- Whether no worker was in a step before all had completed the previous step.
local function in_lockstep(run)
  for _, worker in ipairs(run.workers) do
    for i, step in ipairs(worker.steps) do
      for _, other in ipairs(run.workers) do
        if step > 1 and (other.time[i - 1] or math.huge) > worker.released[i] then return false end
      end
    end
  end
  return true
end

-- The trace has each merged push: a completed step, or, in asp, an open step at the stop. Worker 2 rests in most rounds
-- if `rests` is given.
-- case: traced {bsp,asp} flags: --record trace.csv at: rehearsal:{2,5,8}
-- case: traced bsp rests flags: --record trace.csv at: rehearsal:3
-- case: traced {bsp,ssp:2} flags: --record trace.csv --codes 0,3 --faults kill=2,join=2,after=760ms,within=200ms at: rehearsal:4
function jobs.traced(rule, rests)
  local rng, round = actor.rng(actor.seed, actor.id or 99), 0
  local summary = actor.param.run {
    init = function() return { w = actor.tensor.zeros(1) } end,
    schedule = function(workers)
      local out = {}
      round = round + 1
      for _, id in ipairs(workers) do
        if not rests or id ~= 2 or round % 4 == 0 then out[id] = { { "w" } } end
      end
      return out
    end,
    push = function()
      actor.sleep(rng:uniform(0, 0.02))
      return { { "w", actor.tensor.ones(1) } }
    end,
    pull = actor.optim.add(),
    barrier = rule,
    stop = function(ctx) return ctx.step >= 12 end,
  }
  if actor.rank ~= 0 then return end
  local run = actor.trace.read("trace.csv").runs[1] -- refuses impossible rows
  local pushes, left = 0, 0
  for i, worker in ipairs(run.workers) do
    assert(i == worker.id + 1 or summary.lost > 0)
    pushes, left = pushes + #worker.steps + (worker.open and 1 or 0), left + #worker.leaves
    for k, time in ipairs(worker.time) do
      assert(worker.compute[k] >= 0 and worker.compute[k] < time - worker.released[k])
    end
  end
  if rests then
    local resting = run.workers[3]
    assert(#resting.leaves >= 3 and #resting.steps >= 2 and #resting.steps < 12 and #run.workers[1].steps == 12)
  elseif summary.lost > 0 then
    assert(left <= summary.lost and #run.workers[1].steps >= 12) -- some fail while the last pushes arrive
  else
    assert(pushes == summary.updates and left == 0, pushes)
    assert(rule ~= "bsp" or in_lockstep(run))
  end
end

-- Prints the content of a trace: a line for the file, for each run and for each worker.
function jobs.show()
  local recorded = actor.trace.read(actor.args[2])
  local h = recorded.header
  print(("file: job %s, seed %s, servers %s, resample '%s', note %s"):format(h.job, h.seed, h.servers, h.resample, recorded.note))
  for _, run in ipairs(recorded.runs) do
    local summary = actor.trace.summary(run)
    print(("run %d: barrier %s, %s workers, %d completed, mean step %.2f, stop %s"):format(run.index, run.header.barrier,
      run.header.workers, summary.completed, summary.mean_step, run.stop and ("%.3f"):format(run.stop)))
    print("run " .. run.index .. ": in lockstep " .. tostring(in_lockstep(run)))
    for i, worker in ipairs(run.workers) do
      local least = math.huge
      for _, seconds in ipairs(worker.compute) do least = math.min(least, seconds) end
      print(("worker %d: joined %.3f at %d, %d completed, %d started, least work %.4f, open %s, left %s"):format(worker.id,
        worker.joins[1].time, worker.joins[1].step, #worker.steps, summary.workers[i].started, least,
        worker.open and worker.open.step, worker.leaves[1] and worker.leaves[1].step))
    end
  end
end

-- Worker 1 stays in its third push and prints its process id.
function jobs.stays()
  local pushes = 0
  actor.param.run {
    schedule = each(function(id) return { { "work", id } } end),
    push = function(ctx)
      pushes = pushes + 1
      if ctx.id == 1 and pushes == 3 then meeting.stay() end
      return { { ctx.id, true } }
    end,
    stop = function(ctx) return ctx.step >= 5 end,
  }
end

jobs[(...)](select(2, ...))
