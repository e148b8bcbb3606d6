--- Synchronises the nodes of a job: `announce(name)` creates a file in their working directory, and `await(name)` returns
--- once the file exists. The order of events then does not depend on time.
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"

local M = {}

function M.announce(name) assert(io.open(name, "w")):close() end

function M.await(name)
  local file = io.open(name)
  while not file do
    ffi.C.usleep(1000)
    file = io.open(name)
  end
  file:close()
end

return M
