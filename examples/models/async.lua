-- Model D, no synchronisation: `actorhost -n 4 examples/models/async.lua`. Columns stay at their owners. Who trains one
-- pulls its newest factors, trains them while others may do the same, and pushes what has changed: it is added at the
-- owner. Nobody waits for anybody, so one rank may have made many epochs while another has made few; none is held up by
-- a slow one, and no update is lost, but some are made from factors that are out of date.
local actor = require "actor"
local factorisation = require "factorisation"

-- Adds to a partition where it is, in no more time than that takes, and gives what it is then.
local function push(model, id, change)
  return assert(model:lock(id, function(values) return values[id]:add_(change) end))
end

local function pull(model, id)
  return assert(model:lock(id, function(values)
    local newest = values[id]
    values[id] = nil -- it stays as it is
    return newest
  end))
end

local function train(problem)
  local model = problem:dealt_columns { name = "columns", shared = true }
  -- Of each rank's newest epoch: the squares of its errors, and of how many entries.
  local board = actor.collective.table { name = "board", shared = true }
  local nothing = actor.tensor.zeros({ actor.size, 2 }, { dtype = "float64" })
  nothing:select(2, 1):fill_(math.huge)
  if actor.rank == 0 then board:set(0, nothing) end
  assert(model:regroup() and board:regroup())

  local function newest_of_all(squares, entries)
    return assert(board:lock(0, function(values)
      values[0]:set(actor.rank + 1, 1, squares)
      values[0]:set(actor.rank + 1, 2, entries)
      local total = values[0]:sum(1)
      return math.sqrt(total:get(1) / total:get(2))
    end))
  end

  repeat
    for _, column in ipairs(problem:shuffled_columns()) do
      local before = pull(model, column)
      local after = before:clone()
      problem:train(column, after)
      push(model, column, after - before)
    end
  until problem:epoch_ends(newest_of_all)
  return assert(model:unshare())
end

if ... ~= "async" then factorisation.run(train) end -- not when another script requires it
return train
