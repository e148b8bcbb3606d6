-- Which number below 10,000 has the longest Collatz sequence? The steps are counted in C++ (collatz.cpp).
local actor = require "actor"
local host = require "host"
local collective, tensor = actor.collective, actor.tensor

local best = tensor.zeros { actor.size }
local number = tensor.zeros { actor.size }
for n = 1 + actor.rank, 9999, actor.size do
  local steps = host.collatz(n)
  if steps > best:get(actor.rank + 1) then
    best:set(actor.rank + 1, steps)
    number:set(actor.rank + 1, n)
  end
end

best = collective.allreduce(best, "sum")
number = collective.allreduce(number, "sum")
local winner = best:argmax()
print(("%d takes %d steps"):format(number:get(winner), best:get(winner)))
