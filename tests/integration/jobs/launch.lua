-- The jobs of launch_test.cpp.
local actor = require "actor"
local meeting = require "meeting"

local jobs = {}

-- Shows what each host has: arguments, folder, variables.
function jobs.shows(...)
  print(("host %d of %d has %s"):format(actor.rank, actor.size, table.concat({ ... }, "|")))
  local folder = io.popen "pwd"
  actor.log.info("folder %s, variable %s", folder:read "*l", tostring(os.getenv "LAUNCH_TEST"))
  actor.collective.barrier()
end

function jobs.fails()
  actor.collective.barrier()
  if actor.rank == 1 then error("no good", 0) end
  actor.collective.barrier()
end

function jobs.stays() meeting.stay() end

function jobs.dies()
  actor.collective.barrier()
  if actor.rank == 1 then meeting.die() end
  actor.collective.barrier()
end

jobs[actor.args[1]](unpack(actor.args, 2))
