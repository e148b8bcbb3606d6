-- Jobs of output_test.cpp; the first argument selects the job.
local actor = require "actor"

local jobs = {}

function jobs.writes()
  io.write("one ", 1)
  io.write("\n", "two")
  io.stdout:write(" and"):write(" a half\nthree")
  print(" and more")
  io.stderr:write("errors\n")
  local file = io.open("own", "w")
  file:write("mine")
  file:close()
  io.write("the end")
end

function jobs.sleep_lasts_as_long_as_it_should_and()
  local began = actor.now()
  actor.sleep(0.05)
  print(actor.now() - began >= 0.05, pcall(actor.sleep, -1))
  actor.collective.barrier()
  if actor.rank == 1 then error("broken") end
  actor.sleep(1000)
end

function jobs.traceback_has_users_frames_and_librarys()
  local function broken(x) error("no " .. x) end
  local function count()
    local n = actor.mapreduce.range(1, 3):map(function(x) broken(x) return x end):count()
    return n
  end
  local n = count()
end

-- Lines of many lengths, some longer than the capacity of a pipe.
function jobs.lines(count)
  for i = 1, tonumber(count) do
    local length = i % 100 == 0 and 20000 or i * 37 % 200 + 1
    print(("line %d of %d %s"):format(i, length, ("x"):rep(length)))
  end
end

function jobs.error_lines(count)
  for i = 1, tonumber(count) do
    local length = i % 100 == 0 and 20000 or i * 37 % 200 + 1
    io.stderr:write("[rank ", actor.rank, "] line ", i, " of ", length, " ", ("x"):rep(length), "\n")
  end
end

function jobs.prints_for_ever()
  for i = 1, math.huge do print("line " .. i) end
end

jobs[(...)](select(2, ...))
