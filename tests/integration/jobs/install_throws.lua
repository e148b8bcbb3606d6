-- For the host of examples/embed, whose function throws.
local actor, host = require "actor", require "host"
print(pcall(host.collatz, 0))
actor.collective.barrier()
if actor.rank == 2 then print(host.collatz(-1)) end
actor.collective.barrier()
