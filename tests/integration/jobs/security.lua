-- Jobs of security_test.cpp; the first argument selects the job.
local actor = require "actor"

local jobs = {}

function jobs.token_of_isolated_processes_is_neither()
  local function text_of(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end
  local token = text_of("config/actorhost/token"):match("%S+")
  local seen = text_of("/proc/self/environ") .. text_of("/proc/self/cmdline")
  actor.log.info("a child: %s, its token is there: %s", seen:find("ACTORHOST_CHILD", 1, true) ~= nil,
    seen:find(token, 1, true) ~= nil)
end

function jobs.error_of_another_host_cannot_send()
  actor.log.info("log\27[2J\nline")
  actor.collective.barrier() -- no rank fails before each has printed its line
  if actor.rank == 1 then error("boom\27[2J\r[12:00:00.000 info] all is well", 0) end
  actor.collective.barrier()
end

jobs[(...)](select(2, ...))
