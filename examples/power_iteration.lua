-- The largest eigenvalue of a matrix by power iteration: `actorhost -n 4 examples/power_iteration.lua`. Each rank has
-- some of the columns. A step multiplies them by the rank's part of the vector, and an all-reduce adds the products.
-- `--checkpoint DIR` saves the vector every --save steps; `--resume DIR` continues from there, with any number of
-- ranks.
local actor = require "actor"
local co, tensor = actor.collective, actor.tensor
local float64 = { dtype = "float64" }

local opt = actor.options { n = 500, steps = 1000, save = 10, tolerance = 1e-12 }
local n, rank, size = opt.n, actor.rank, actor.size

-- This rank's columns of Hilbert's matrix; the entry i, j is 1 / (i + j - 1).
local before, upto = math.floor(n * rank / size), math.floor(n * (rank + 1) / size)
local columns = tensor.zeros({ n, upto - before }, float64)
for i = 1, n do
  for j = before + 1, upto do columns:set(i, j - before, 1 / (i + j - 1)) end
end

local keeper = actor.checkpoint.new { name = "vector", steps = opt.save }
local state = keeper:load() or { step = 0, value = 0, vector = tensor.full({ n }, 1 / math.sqrt(n), float64) }
if state.step > 0 then print(("continues after step %d"):format(state.step)) end

local bar = actor.progress.new { total = opt.steps, label = "power iteration" }
local change = math.huge
while change > opt.tolerance and state.step < opt.steps do
  local product = assert(co.allreduce(columns:matmul(state.vector:narrow(1, before + 1, upto - before))))
  local value = math.sqrt(product:dot(product))
  change = math.abs(value - state.value)
  state = { step = state.step + 1, value = value, vector = product / value }
  keeper:save(state)
  bar:update(state.step, ("%.12g"):format(value))
end
bar:finish()
print(("largest eigenvalue %.9f, found in %d steps"):format(state.value, state.step))
