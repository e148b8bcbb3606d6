-- Jobs of interrupt_test.cpp; the first argument selects the job.
local actor = require "actor"
local each = require "each_worker"

local jobs = {}

-- Each job prints "works" before it starts to block, compute or communicate.

-- Counts forever, with a checkpoint every few steps.
function jobs.endless()
  io.stderr:write("works\n")
  local param, tensor = actor.param, actor.tensor
  param.run {
    init = function(from)
      actor.log.info("begins at %d updates", from.updates)
      return { count = tensor.zeros(1) }
    end,
    schedule = each(function() return { { "count" } } end),
    push = function() return { { "count", tensor.ones(1) } } end,
    pull = actor.optim.add(),
    stop = function() return false end,
    checkpoint = { steps = 5 },
  }
end

function jobs.compiled()
  io.stderr:write("works\n")
  while true do end
end

-- A C function that does not return.
function jobs.backtracks()
  io.stderr:write("works\n")
  return ("a"):rep(1000):find((".-"):rep(50) .. "b")
end

function jobs.interpreted()
  io.stderr:write("works\n")
  jit.off(true, true)
  while true do pcall(error) end
end

function jobs.coroutine()
  local turn = coroutine.wrap(function() while true do coroutine.yield() end end)
  io.stderr:write("works\n")
  while true do turn() end
end

function jobs.swallows()
  local function fails() error("swallowed") end
  io.stderr:write("works\n")
  while true do
    pcall(fails)
    pcall(actor.collective.barrier)
  end
end

function jobs.swallows_loops()
  local function loops() while true do end end
  io.stderr:write("works\n")
  while true do pcall(loops) end
end

function jobs.reads()
  local pipe = io.popen("exec sleep 60 2>&-")
  io.stderr:write("works\n")
  print(pipe:read("*a"))
end

function jobs.loads()
  local data = require("actor").data
  io.stderr:write("works\n")
  while true do data.mnist("images") end
end

function jobs.waits()
  io.stderr:write("works\n")
  if actor.rank == 0 then while true do end end
  actor.collective.barrier()
end

jobs[(...)](select(2, ...))
