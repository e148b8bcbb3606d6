-- Late workers in a job of collectives; the first argument selects the job. join_point_test.cpp has further runs of it.
local actor = require "actor"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- case: late_joiner_is_admitted_at_join_point flags: --faults join=2,after=800ms,within=300ms at: rehearsal:{1,3}
function jobs.late_joiner_is_admitted_at_join_point()
  local co = actor.collective
  local step, late = 0, 0
  local mine = actor.tensor.ones(3)
  while late < 2 or step % 5 > 0 do
    local new = co.join_point()
    late = late + new
    if new > 0 then step, late = unpack(co.broadcast({ step, late })) end
    assert(co.size() == actor.size or late < 2)
    local sum = co.allreduce(mine)
    assert(sum:get(1) == co.size(), "a sum of others")
    step = step + 1
    if step == 1 then actor.log.info("begun") end
  end
  local ranks = co.allgather(co.rank())
  local steps = co.allgather(step)
  for i, other in ipairs(steps) do assert(other == step and ranks[i] == i - 1) end
  print(("%d workers, %d late"):format(co.size(), late))
end

function jobs.any_first_collective_of_late_worker(...)
  local co = actor.collective
  local late = actor.rank > 0
  local handle
  if not late then
    actor.log.info("begun")
    co.allreduce(actor.tensor.ones(70000))
    co.allreduce(actor.tensor.ones(2), "sum", { async = true }):wait()
    repeat until co.join_point() > 0
  end
  local how = ...
  local value = actor.tensor.full(40000, actor.rank + 1)
  if how == "async" then
    handle = co.allreduce(value, "sum", { async = true })
    print(handle:wait():get(40000))
  elseif how == "table" then
    local sums = co.table { combiner = "sum" }
    sums:add(7, actor.rank + 1)
    sums:allreduce()
    print(sums:get(7))
  else
    print(co.allreduce(value):get(40000))
  end
  print(co.allreduce(actor.tensor.ones(1)):sum())
end

function jobs.late_joiner_without_join_point()
  local co = actor.collective
  if actor.rank == 0 then
    actor.log.info("begun")
    await "late"
    print("alone", co.size(), co.allreduce(actor.tensor.ones(1)):sum())
  else
    announce "late"
    assert(co.rank() == nil)
    co.barrier()
    print("not reached")
  end
end

function jobs.actions_do_not_wait_for_late_worker(...)
  local co, param = actor.collective, actor.param
  local mr = actor.mapreduce
  local actions = {}
  function actions.mapreduce() assert(mr.range(1, 1000):reduce(function(a, b) return a + b end) == 500500) end
  function actions.iterate()
    local sum = mr.range(1, 1000):iterate {
      state = 0, steps = 3,
      step = function(part, state) return part[1] and state + 1 or state end,
      merge = function(state, parts) return state + #parts end,
    }
    assert(sum)
  end
  function actions.param()
    return param.run {
      init = function() return { w = actor.tensor.zeros(2) } end,
      schedule = function(workers)
        local tasks = {}
        for _, id in ipairs(workers) do tasks[id] = { { "w", param.get "w" } } end
        return tasks
      end,
      push = function() return { { "w", actor.tensor.ones(2) } } end,
      stop = function(ctx) return ctx.updates >= 3 end,
    }
  end
  if actor.role == "worker" then
    if actor.rank == 0 then
      actor.log.info("begun")
      await "late"
    else
      announce "late"
      co.barrier()
      print(co.allreduce(actor.tensor.ones(1)):sum())
      return
    end
  end
  actions[...]()
  repeat until co.join_point() > 0
  co.barrier()
  print(co.allreduce(actor.tensor.ones(1)):sum())
end

function jobs.late_worker_that_is_let_in_and_lost_is()
  local co = actor.collective
  if actor.rank == 0 then actor.log.info("begun") end
  repeat until co.join_point() > 0
  if actor.rank == 1 then meeting.die() end
  local sum, message, code = co.allreduce(actor.tensor.ones(1))
  print(sum, message, code)
  print(co.join_point(), co.allreduce(actor.tensor.ones(1)):sum(), co.size())
end

function jobs.late_worker_that_is_lost_while_it_waits()
  local co = actor.collective
  if actor.rank == 0 then
    actor.log.info("begun")
    repeat co.barrier() until actor.size == 2
    actor.log.info("seen")
    repeat co.barrier() until actor.size == 1
    print(co.join_point(), co.size())
  else
    co.join_point()
  end
end

jobs[(...)](select(2, ...))
