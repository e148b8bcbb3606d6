-- Every node runs the whole script. print writes the output of rank 0 only; `--print all` writes that of every rank.
local actor = require "actor"

print(("hello from rank %d of %d"):format(actor.rank, actor.size))
actor.collective.barrier()

local ones = actor.tensor.full({ 3 }, actor.rank + 1)
print("sum over the ranks of rank + 1:", actor.collective.allreduce(ones, "sum"):get(1))
