-- Twenty all-reduces of ten numbers, for the memory of a rehearsed host:
-- `/usr/bin/time -v actorhost rehearse --hosts 64 tests/bench/allreduces.lua`, also with 16 hosts.
local actor = require "actor"
for _ = 1, 20 do assert(actor.collective.allreduce(actor.tensor.ones(10), "sum")) end
