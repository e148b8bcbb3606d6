--- Lets the nodes of a job wait for each other: `tell(name)` makes a file in the folder in which they run, and
--- `await(name)` returns once it is there. The order in which they come then does not depend on time.
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"

local M = {}

function M.tell(name) assert(io.open(name, "w")):close() end

function M.await(name)
  local file = io.open(name)
  while not file do
    ffi.C.usleep(1000)
    file = io.open(name)
  end
  file:close()
end

return M
