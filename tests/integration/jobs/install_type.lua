-- For the host of examples/embed: gives its function a value of another type.
local actor, host = require "actor", require "host"
if actor.rank == 1 then host.collatz("seven") end
actor.collective.barrier()
