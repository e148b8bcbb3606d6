-- Jobs of host_bench.cpp and state_bench.cpp; the first word selects one. A job of host_bench writes "x" when it
-- reaches the measured point; a job of state_bench runs until it is stopped.
local actor = require "actor"

local jobs = {}

--- Writes "x" at the first call of `schedule`.
function jobs.first_callback()
  local reached = false
  actor.param.run {
    schedule = function(workers)
      if not reached then io.write("x") io.flush() reached = true end
      local tasks = {}
      for _, id in ipairs(workers) do tasks[id] = { { 1, 0 } } end
      return tasks
    end,
    push = function(_, task) return task end,
    pull = function(_, updates) return updates end,
    stop = function(ctx) return ctx.updates > 0 end,
  }
end

--- All nodes wait for rank 0, which waits for its standard input.
function jobs.idle()
  actor.collective.barrier()
  if actor.rank == 0 then io.write("x") io.flush() io.read() end
  actor.collective.barrier()
end

--- Computes products of about two seconds each.
function jobs.kernels()
  local a = actor.tensor.ones { 5000, 5000 }
  while true do a:matmul(a) end
end

function jobs.asleep()
  while true do actor.sleep(60) end
end

jobs[(...)](select(2, ...))
