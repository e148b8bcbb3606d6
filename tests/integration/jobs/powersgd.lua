-- The mean of all workers' tensors by PowerSGD.
local actor = require "actor"
local expect = require "expect"
local filter, tensor, co = actor.filter, actor.tensor, actor.collective

local jobs = {}

-- A mean of the rank of the filter is exact; vectors and small tensors are sent whole.
-- case: exact at: rehearsal:{1,2,5}
-- case: exact at: {threads,hosts}
function jobs.exact()
  local power = filter.powersgd { rank = 2 }
  local left = tensor.normal({ 40, 2 }, { seed = 1, dtype = "float64" })
  local right = tensor.normal({ 2, 30 }, { seed = 2, dtype = "float64" })
  local mine = left:matmul(right) * (actor.rank + 1)
  local expected = left:matmul(right) * ((actor.size + 1) / 2)
  local mean = power:mean(mine, "w")
  assert((mean - expected):abs():max() < 1e-6) -- the lengths of columns have an epsilon of 1e-8
  expect.same(power:mean(tensor.full({ 3 }, actor.rank), "b"):get(1), (actor.size - 1) / 2)
  expect.same(power:mean(tensor.full({ 2, 2 }, actor.rank), "small"):sum(), 2 * (actor.size - 1))
  local cube = power:mean(mine:reshape(40, 5, 6), "cube")
  assert((cube:reshape(40, 30) - expected):abs():max() < 1e-6) -- the lengths of columns have an epsilon of 1e-8
  local stats = power:stats()
  expect.same(stats.before, 2 * 40 * 30 * 8 + 3 * 4 + 4 * 4)
  expect.same(stats.after, 2 * 2 * (40 + 30) * 8 + 3 * 4 + 4 * 4)
end

-- Error feedback: the sum of the means follows the sum of the true means, although each has rank 1. All workers get
-- the same bits.
-- case: feedback at: rehearsal:3
function jobs.feedback()
  local power = filter.powersgd { rank = 1 }
  local mine = tensor.normal({ 20, 10 }, { seed = 3, stream = actor.rank })
  local truth, sum = co.allreduce(mine) / actor.size, tensor.zeros { 20, 10 }
  for round = 1, 300 do
    sum:add_(power:mean(mine, "w"))
    if round == 1 then assert((sum - truth):norm() > 0.5 * truth:norm()) end
  end
  assert((sum / 300 - truth):norm() < 0.1 * truth:norm(), (sum / 300 - truth):norm())
  local hashes = co.allgather(actor.hash(sum))
  for r = 1, hashes.n do expect.same(hashes[r], hashes[1]) end
end

-- case: wrong at: rehearsal:1
function jobs.wrong()
  expect.raises(function() filter.powersgd {} end, "rank")
  expect.raises(function() filter.powersgd { rank = 0 } end, "bad argument 'rank' to filter.powersgd")
  expect.raises(function() filter.powersgd({ rank = 1 }):mean(3, "w") end, "bad argument 't' to powersgd:mean")
  expect.raises(function() filter.powersgd({ rank = 1 }):mean(tensor.ones(2)) end, "bad argument 'key' to powersgd:mean")
end

jobs[(...)](select(2, ...))
