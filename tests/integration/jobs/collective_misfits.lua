-- Mismatched collectives, for each operation with each possible difference. Both ranks get an error with both calls and
-- both lines, and the next call works.
-- case: within: 60 at: threads:2 isolate:2
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local me = actor.rank
local three, four = tensor.ones { 3 }, tensor.ones { 4 }
local double, rows, wide = tensor.ones({ 3 }, { dtype = "float64" }), tensor.ones { 3, 2 }, tensor.ones { 3, 3 }
local function filled(options)
  local t = co.table(options)
  t:set(1, me)
  return t
end
local one, other, named = filled(), filled { combiner = "max" }, filled { name = "w" }
local global, maxima = filled(), filled { combiner = "max" }
local shared = filled { shared = true }
shared:regroup()
-- The call of rank 0 and its name in the error, and the same of rank 1.
local misfits = {
  { function() co.allreduce(three) end, "allreduce sum float32[3]",
    function() co.allreduce(four) end, "allreduce sum float32[4]" },
  { function() co.allreduce(three) end, "allreduce sum float32[3]",
    function() co.allreduce(double) end, "allreduce sum float64[3]" },
  { function() co.allreduce(three, "max") end, "allreduce max float32[3]",
    function() co.allreduce(three, "min") end, "allreduce min float32[3]" },
  { function() co.allreduce(three) end, "allreduce sum float32[3]",
    function() co.allreduce(three, "sum", { algorithm = "star" }) end, "allreduce by star sum float32[3]" },
  { function() co.allreduce(three, "sum", { algorithm = "ring" }) end, "allreduce by ring sum float32[3]",
    function() co.allreduce(three, "sum", { algorithm = "star" }) end, "allreduce by star sum float32[3]" },
  { function() co.reduce(rows) end, "reduce sum float32[3,2] to rank 0",
    function() co.reduce(wide) end, "reduce sum float32[3,3] to rank 0" },
  { function() co.reduce(three, "sum", 0) end, "reduce sum float32[3] to rank 0",
    function() co.reduce(three, "sum", 1) end, "reduce sum float32[3] to rank 1" },
  { function() co.reduce(three, "prod") end, "reduce prod float32[3] to rank 0",
    function() co.reduce(double, "prod") end, "reduce prod float64[3] to rank 0" },
  { function() co.reduce_scatter(rows) end, "reduce_scatter sum float32[3,2]",
    function() co.reduce_scatter(three) end, "reduce_scatter sum float32[3]" },
  { function() co.reduce_scatter(three, "mean") end, "reduce_scatter mean float32[3]",
    function() co.reduce_scatter(double, "mean") end, "reduce_scatter mean float64[3]" },
  { function() co.broadcast(three, 0) end, "broadcast from rank 0",
    function() co.broadcast(three, 1) end, "broadcast from rank 1" },
  { function() co.allgather(rows) end, "allgather float32[*,2]",
    function() co.allgather(wide) end, "allgather float32[*,3]" },
  { function() co.allgather(three) end, "allgather float32[*]",
    function() co.allgather(double) end, "allgather float64[*]" },
  { function() co.allgather(three) end, "allgather float32[*]",
    function() co.allgather { 1 } end, "allgather values" },
  { function() co.gather(rows) end, "gather float32[*,2] to rank 0",
    function() co.gather(wide) end, "gather float32[*,3] to rank 0" },
  { function() co.gather(three, 0) end, "gather float32[*] to rank 0",
    function() co.gather(three, 1) end, "gather float32[*] to rank 1" },
  { function() co.scatter({ 1, 2 }, 0) end, "scatter from rank 0",
    function() co.scatter({ 1, 2 }, 1) end, "scatter from rank 1" },
  { function() co.alltoall(rows) end, "alltoall float32[*,2]",
    function() co.alltoall(wide) end, "alltoall float32[*,3]" },
  { function() co.alltoall(three) end, "alltoall float32[*]",
    function() co.alltoall { 1, 2 } end, "alltoall values" },
  { function() co.barrier() end, "barrier",
    function() co.alltoall { 1, 2 } end, "alltoall values" },
  { function() assert(co.allreduce(three, "sum", { async = true }):wait()) end, "allreduce sum float32[3]",
    function() assert(co.allreduce(four, "sum", { async = true }):wait()) end, "allreduce sum float32[4]" },
  { function() one:broadcast(0) end, "broadcast of a table (sum) from rank 0",
    function() one:broadcast(1) end, "broadcast of a table (sum) from rank 1" },
  { function() one:reduce(0) end, "reduce of a table (sum) to rank 0",
    function() one:reduce(1) end, "reduce of a table (sum) to rank 1" },
  { function() one:allreduce() end, "allreduce of a table (sum) max float64[9]",
    function() other:allreduce() end, "allreduce of a table (max) max float64[9]" },
  { function() one:allgather() end, "allgather of a table (sum)",
    function() named:allgather() end, "allgather of table 'w' (sum)" },
  { function() one:regroup() end, "regroup of a table (sum)",
    function() other:regroup() end, "regroup of a table (max)" },
  { function() one:push(global) end, "push of a table (sum) to that of a table (sum)",
    function() one:push(maxima) end, "push of a table (sum) to that of a table (max)" },
  { function() one:pull(global) end, "pull of a table (sum) from that of a table (sum) (missing = error)",
    function() one:pull(global, { missing = "skip" }) end, "pull of a table (sum) from that of a table (sum) (missing = skip)" },
  { function() one:rotate { 1, 0 } end, "rotate of a table (sum) by 1,0",
    function() one:rotate { 0, 1 } end, "rotate of a table (sum) by 0,1" },
  { function() shared:sync() end, "sync",
    function() one:push(global) end, "push of a table (sum) to that of a table (sum)" },
  { function() one:push(global) end, "push of a table (sum) to that of a table (sum)",
    function() one:regroup() end, "regroup of a table (sum)" },
  { function() co.rotator({ table = one }):round(print) end, "rotator round 1 of 2 slices of a table (sum)",
    function() one:rotate() end, "rotate of a table (sum) by to the next" },
  { function() co.scheduler({ dynamic = { 1, 2 } }):run(print) end, "scheduler of 2 items, dynamic by 1",
    function() co.barrier() end, "barrier" },
}

for _, misfit in ipairs(misfits) do
  local fine, message = pcall(misfit[2 * me + 1])
  assert(not fine, misfit[2 * me + 2] .. " has not failed")
  for rank = 0, 1 do
    local expected = ("rank %d is in %s at "):format(rank, misfit[2 * rank + 2])
    local line = (":%d"):format(debug.getinfo(misfit[2 * rank + 1], "S").linedefined)
    local from, to = message:find(expected, 1, true)
    assert(from and message:sub(to + 1):match("^[^,;]*(:%d+)") == line, ("%s%s was due in: %s"):format(expected, line, message))
  end
  assert(co.barrier())
end
