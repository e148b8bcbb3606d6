--- How jobs whose nodes wait for each other do so: `tell(name)` makes a file in the folder that they run in, and
--- `await(name)` comes back once it is there. Who comes first, and how far, is then no matter of time.
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
