-- Model A, locking: `actorhost -n 4 examples/models/locking.lua`. Columns stay at their owners. Who trains one locks it,
-- gets its newest factors, and they are written back before anybody else has them: no update is lost, none is stale.
local actor = require "actor"
local factorisation = require "factorisation"

local opt = actor.options { rows = 80, columns = 60, rank = 3, rate = 0.1, epochs = 20 }
local problem = factorisation.new(opt)

local model = actor.collective.table { name = "columns", shared = true }
for _, column in ipairs(problem:own_columns()) do model:set(column, problem:first_factors(column)) end
assert(model:regroup())

-- Each rank goes through the columns in an order of its own, so that few meet at the same lock.
local order = {}
for column = 0, opt.columns - 1 do order[column + 1] = column end
local random = actor.rng(actor.seed, actor.rank)

for epoch = 1, opt.epochs do
  for _, column in ipairs(random:shuffle(order)) do
    assert(model:lock(column, function(factors)
      problem:train(column, factors[column])
      return true
    end))
  end
  assert(model:sync())
  print(("epoch %2d  rmse %.4f"):format(epoch, problem:rmse(model)))
end
