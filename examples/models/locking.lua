-- Model A, locking: `actorhost -n 4 examples/models/locking.lua`. Columns stay on their owners. A rank locks a column,
-- gets its newest factors, and writes them back before another rank gets them: no update is lost or stale. `--events`
-- does the same without a lock service: a rank requests a column from its owner, which lends the column to one rank at
-- a time.
local actor = require "actor"
local factorisation = require "factorisation"
local co = actor.collective

local function train_locked(problem)
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

local function train_by_events(problem)
  local model, waiting, lent = problem:dealt_columns { name = "columns" }, {}, {}
  local borrowed, ended = nil, 0

  local function send(to, name, value) assert(co.send_event(name, value, { to = to })) end
  local function lend(column)
    local queue = waiting[column]
    if lent[column] or not queue or #queue == 0 then return end
    lent[column] = true
    send(table.remove(queue, 1), "have", model:get(column))
  end

  local on = {}
  function on.want(column, rank)
    waiting[column] = waiting[column] or {}
    table.insert(waiting[column], rank)
    lend(column)
  end
  function on.back(value)
    model:set(value.column, value.factors)
    lent[value.column] = nil
    lend(value.column)
  end
  function on.have(factors) borrowed = factors end
  function on.ended() ended = ended + 1 end
  local function take_events_until(reached)
    while not reached() do
      local event = assert(co.wait_event())
      on[event.name](event.value, event.from)
    end
  end

  repeat
    for _, column in ipairs(problem:shuffled_columns()) do
      borrowed = nil
      send(column % actor.size, "want", column)
      take_events_until(function() return borrowed end)
      problem:train(column, borrowed)
      send(column % actor.size, "back", { column = column, factors = borrowed })
    end
    send("all", "ended")
    take_events_until(function() return ended == actor.size end) -- until then other ranks may want columns of this rank
    ended = 0
  until problem:epoch_ends()
  return model
end

local function train(problem) return (problem.options.events and train_by_events or train_locked)(problem) end

if ... ~= "locking" then factorisation.run(train, { events = false }) end -- not when another script requires it
return train
