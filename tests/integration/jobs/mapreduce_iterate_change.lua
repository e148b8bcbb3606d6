-- Jobs of mapreduce_iterate_change_test.cpp; the first argument selects the job.
local actor = require "actor"
local meeting = require "meeting"
local mr = require "actor.mapreduce"

local jobs = {}

function jobs.late_host_takes_partitions()
  local rows = mr.range(1, 100, 1, 4):cache()
  print("rows " .. rows:count())
  local began = false
  local rows_by_worker = rows:iterate {
    state = {},
    step = function(part, state)
      if not began then
        began = true
        actor.log.info("worker %d works on %d rows.", actor.id, #part)
      end
      return { by = actor.id, rows = #part }
    end,
    merge = function(_, parts)
      local rows_by_worker = {}
      for _, part in ipairs(parts) do rows_by_worker[part.by] = (rows_by_worker[part.by] or 0) + part.rows end
      return rows_by_worker
    end,
    stop = function(ctx) return ctx.state[1] ~= nil and ctx.state[0] ~= nil end,
  }
  print(("rows of 0: %d, of 1: %d"):format(rows_by_worker[0], rows_by_worker[1]))
end

function jobs.host_joins_during_round()
  local late = actor.options { "JOB", late = false }.late
  local rows = mr.range(1, 100, 1, 4):cache()
  print("rows " .. rows:count())
  if actor.id == 1 then
    meeting.announce("come") -- in the middle of the first round, while all partitions are being processed
    if late then meeting.await("went_on") end
  end
  local state = rows:iterate {
    state = { round = 0 },
    step = function(_, state)
      if actor.id == 0 and not meeting.is_there("come") then
        actor.log.info("worker 0 works.")
        meeting.await("come")
        os.execute("sleep 0.2")
      end
      if state.round == 3 then meeting.announce("went_on") end
      return { by = actor.id, of = state.round }
    end,
    merge = function(state, parts)
      local new = { round = state.round + 1 }
      for _, part in ipairs(parts) do
        if part.of ~= state.round then error("a contribution of another round") end
        new["of" .. part.by] = (new["of" .. part.by] or 0) + 1
      end
      return new
    end,
    stop = function(ctx) return ctx.state.of1 ~= nil end,
  }
  print(("of 0: %d, of 1: %d"):format(state.of0, state.of1))
end

-- The contributions of a worker that dies at the barrier are counted.
-- case: worker_that_dies_at_barrier_of_iterate at: isolate:2
function jobs.worker_that_dies_at_barrier_of_iterate()
  local calls = 0
  local _, summary = mr.range(1, 40, 1, 4):iterate {
    state = 0, steps = 6, barrier = "ssp:1",
    step = function(rows)
      calls = calls + 1
      -- While worker 0 is in its second round, worker 1 gets no further than its third.
      if actor.id == 0 and calls == 3 then os.execute("until [ -e dead ]; do sleep 0.02; done") end
      if actor.id == 1 and calls == 5 then os.execute("(sleep 0.2; kill -9 $PPID; touch dead) > log 2>&1 &") end
      return #rows
    end,
    merge = function(_, counts)
      local sum = 0
      for _, n in ipairs(counts) do sum = sum + n end
      return sum
    end,
  }
  assert(summary.reason == "steps" and summary.steps == 6)
end

jobs[(...)](select(2, ...))
