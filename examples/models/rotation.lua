-- Model B, rotation: `actorhost -n 4 examples/models/rotation.lua`. Columns rotate through the ranks, so one rank at a
-- time trains a column, always with its newest factors. While a rank trains one slice, the other slice travels.
local actor = require "actor"
local factorisation = require "factorisation"

local function train(problem)
  local model = problem:dealt_columns { name = "columns" }
  local rotator = actor.collective.rotator { table = model, slices = 2 }
  repeat
    assert(rotator:round(function(slice)
      for column, factors in slice:pairs() do problem:train(column, factors) end
    end))
  until problem:epoch_ends()
  return model
end

if ... ~= "rotation" then factorisation.run(train) end -- not when another script requires it
return train
