--- Synchronises the nodes of a job: `announce(name)` creates a file in their working directory, `is_there(name)` tells
--- whether the file exists, and `await(name)` returns once it exists. The order of events then does not depend on time.
--- `stay` and `die` are ends of processes.
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned); int getpid(void); int kill(int, int);"

local M = {}

function M.announce(name) assert(io.open(name, "w")):close() end

function M.is_there(name)
  local file = io.open(name)
  return file ~= nil and file:close()
end

function M.await(name)
  while not M.is_there(name) do ffi.C.usleep(1000) end
end

--- Logs the process, and stays there until the test kills it ("kill: stays").
function M.stay()
  require("actor").log.info("stays in process %d.", ffi.C.getpid())
  while true do end
end

--- Kills this process.
function M.die() ffi.C.kill(ffi.C.getpid(), 9) end

return M
