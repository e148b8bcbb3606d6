-- Model A, locking: `actorhost -n 4 examples/models/locking.lua`. Columns stay at their owners. Who trains one locks it,
-- gets its newest factors, and they are written back before anybody else has them: no update is lost, none is stale.
local factorisation = require "factorisation"

local function train(problem)
  local model = problem:dealt_columns { name = "columns", shared = true }
  assert(model:regroup())
  repeat
    for _, column in ipairs(problem:shuffled_columns()) do
      assert(model:lock(column, function(factors)
        problem:train(column, factors[column])
        return true
      end))
    end
  until problem:epoch_ends()
  return assert(model:unshare())
end

if ... ~= "locking" then factorisation.run(train) end -- not when another script requires it
return train
