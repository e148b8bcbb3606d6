-- Every node runs the whole script. print speaks once; `--print all` lets every rank speak.
local actor = require "actor"

print(("hello from rank %d of %d"):format(actor.rank, actor.size))
actor.collective.barrier()

local ones = actor.tensor.full({ 3 }, actor.rank + 1)
print("sum over the ranks of rank + 1:", actor.collective.allreduce(ones, "sum"):get(1))
