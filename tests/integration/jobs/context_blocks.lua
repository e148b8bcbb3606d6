-- Logs the worker's process, then runs a script in it. context_blocks.lua SCRIPT ARGUMENT...
local actor = require "actor"
local ffi = require "ffi"
ffi.cdef "int getpid(void);"
actor.log.info(("worker %d in process %d."):format(actor.id, ffi.C.getpid()))
local script = table.remove(actor.args, 1)
function print(...) actor.log.info(...) end -- standard output has the lines of rank 0 only
assert(loadfile(script))()
