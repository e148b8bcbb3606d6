-- Model B, rotation: `actorhost -n 4 examples/models/rotation.lua`. Columns go round the ranks, so each is trained by one
-- rank at a time and always at its newest; while a rank trains on one slice of them the other is on its way.
local actor = require "actor"
local factorisation = require "factorisation"

local opt = actor.options { rows = 80, columns = 60, rank = 3, rate = 0.1, epochs = 20, slices = 2 }
local problem = factorisation.new(opt)

local model = actor.collective.table { name = "columns" }
for _, column in ipairs(problem:own_columns()) do model:set(column, problem:first_factors(column)) end

local rotator = actor.collective.rotator { table = model, slices = opt.slices }
for epoch = 1, opt.epochs do
  assert(rotator:round(function(slice)
    for column, factors in slice:pairs() do problem:train(column, factors) end
  end))
  print(("epoch %2d  rmse %.4f"):format(epoch, problem:rmse(model)))
end
