-- For the host of examples/embed: passes a value of a wrong type to its function.
local actor, host = require "actor", require "host"
if actor.rank == 1 then host.collatz("seven") end
actor.collective.barrier()
