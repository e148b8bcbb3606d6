-- For status_test.cpp: runs for status clients. status.lua JOB [...]
local actor = require("actor")
local meeting = require("meeting")
local jobs = {}

local function sleep_until(file)
  repeat actor.sleep(0.01) until meeting.is_there(file)
end

-- Rank 0 waits in an all-reduce for the last rank, which computes until the file exists.
function jobs.computing(file)
  local last = actor.rank == actor.size - 1
  if last then
    repeat
      local sum = 0
      for i = 1, 1e6 do sum = sum + i end
    until meeting.is_there(file)
  end
  actor.collective.allreduce(actor.tensor.full({ 1 }, 1), "sum")
end

-- Each of some steps pushes two keys; then all workers sleep until the file exists.
function jobs.steps(file, work, limit)
  actor.param.run {
    init = function() return { a = actor.tensor.zeros { 3000 }, b = actor.tensor.zeros { 2 } } end,
    barrier = actor.barrier.ssp(1),
    schedule_local = function() return { "a", "b" } end,
    push = function()
      local till = actor.now() + tonumber(work)
      repeat until actor.now() >= till
      return { { "a", actor.tensor.ones { 3000 } }, { "b", actor.tensor.ones { 2 } } }
    end,
    pull = actor.optim.add(),
    stop = function(ctx) return ctx.step >= tonumber(limit) end,
  }
  sleep_until(file)
end

-- Peers: the last rank stays in its third push until the file exists.
function jobs.peers(file, rule)
  actor.peer.run {
    init = function() return { w = actor.tensor.zeros(1) } end,
    schedule = function() return { "w" } end,
    push = function(ctx)
      if ctx.step == 2 and actor.rank == actor.size - 1 then meeting.await(file) end
      return { { "w", actor.tensor.ones(1) } }
    end,
    barrier = rule,
    stop = function(ctx) return ctx.step >= 8 end,
  }
end

-- A late joiner is admitted, and makes the others' next call with them.
function jobs.late(file)
  local co = actor.collective
  if actor.rank == 0 then
    for _ = 1, 5 do co.allreduce(actor.tensor.ones(1)) end
    actor.log.info("begun")
    repeat until co.join_point() > 0
  end
  co.allreduce(actor.tensor.ones(1))
  sleep_until(file)
end

-- Each node multiplies matrices until the file exists, and notifies before each product. Each product takes longer than
-- the previous one, so that on any machine an observer's snapshot falls within a single product.
function jobs.kernel(file)
  local b, number = actor.tensor.ones { 3000, 3000 }, 0
  actor.collective.allreduce(actor.tensor.ones(1))
  repeat
    number = number + 1
    meeting.announce(("in%d.%d"):format(actor.rank, number))
    actor.tensor.ones({ 1000 * number, 3000 }):matmul(b)
  until meeting.is_there(file)
end

local name = ...
jobs[name](select(2, ...))
