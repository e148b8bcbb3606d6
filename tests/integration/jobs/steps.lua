-- Barrier rules between the steps of collective jobs and of averaging: the first argument selects the job.
-- steps_test.cpp has further runs of it.
local actor = require "actor"
local expect = require "expect"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Rank 0 stays in its fourth step until the other ranks have advanced as far as the rule permits, and try to continue.
-- case: steps {steps,average} bsp 0 at: threads isolate hosts
-- case: steps {steps,average} ssp:2 2 at: threads isolate hosts
-- The flag --barrier wins, and rules in Lua work:
-- case: steps steps bsp 3 flags: --barrier jobs/barrier_rules.lua:behind at: threads:2
-- case: steps average bsp 1 flags: --barrier ssp:1 at: threads:2
function jobs.steps(...)
  local co, tensor = actor.collective, actor.tensor
  local way, rule, lead = ..., select(2, ...)
  lead = tonumber(lead)
  local handle, x
  if way == "average" then
    x = tensor.full({ 3 }, actor.rank)
    handle = actor.average.start(x, { sync_interval_ms = 1, barrier = rule })
  end
  local function steps(count)
    if way == "steps" then return co.steps { count = count, barrier = rule } end
    local step = 0
    return function()
      step = step + 1
      if step <= count then return step end
    end
  end
  local function work(step)
    announce(("rank %d in step %d"):format(actor.rank, step))
    if actor.rank == 0 and step == 4 then
      for other = 1, actor.size - 1 do await(("rank %d in step %d"):format(other, 4 + lead)) end
      local till = actor.now() + 0.02 -- a worker does not report when it begins to wait
      while actor.now() < till do end
      for other = 1, actor.size - 1 do
        assert(not io.open(("rank %d in step %d"):format(other, 4 + lead + 1)), "passed too early")
      end
    end
  end
  local made = 0
  for step in steps(actor.rank == 0 and 12 or 10) do
    if handle then handle:step(work, step) else work(step) end
    made = step
  end
  if handle then
    handle:abort()
    assert(x:min() == x:max())
  end
  expect.same(made, actor.rank == 0 and 12 or 10)
end

-- case: lost_worker_is_not_awaited kill: stays within: 20 at: isolate
function jobs.lost_worker_is_not_awaited()
  for step in actor.collective.steps { count = 20, barrier = "ssp:1" } do
    if actor.rank == 2 and step == 5 and actor.size == 3 then meeting.stay() end
  end
  expect.same(actor.size, 2)
end

function jobs.job_of_collectives_honours_barrier_by()
  local keeper = actor.checkpoint.new { steps = 2 }
  local state = keeper:load() or { step = 0 }
  for step in actor.collective.steps { count = state.step + 2, from = state.step } do
    state.step = step
    keeper:save(state)
  end
  if actor.rank == 0 then print("step " .. state.step) end
end

jobs[(...)](select(2, ...))
