-- Model D, no synchronisation: `actorhost -n 4 examples/models/async.lua`. Workers fetch and update the same columns at
-- the same time. A rank fetches a copy of a column's newest factors, even while other ranks hold copies, and the owner
-- adds the rank's changes. No rank waits for another, so ranks may differ in epochs. No update is lost, but concurrent
-- updates of a column do not see each other. With `--events` there are no owners: every rank has all columns, and sends
-- each change to all ranks.
local actor = require "actor"
local factorisation = require "factorisation"
local co = actor.collective

-- The root of the mean squared error, from each rank's newest epoch; `board` has a row {squares, entries} for each
-- rank.
local function error_of(board)
  for rank = 1, actor.size do
    if board:get(rank, 2) == 0 then return math.huge end
  end
  local total = board:sum(1)
  return math.sqrt(total:get(1) / total:get(2))
end

local function new_board() return actor.tensor.zeros({ actor.size, 2 }, { dtype = "float64" }) end

local function train_shared(problem)
  local model = problem:dealt_columns { name = "columns", shared = true }
  local board = co.table { name = "board", shared = true }
  if actor.rank == 0 then board:set(0, new_board()) end
  assert(model:regroup() and board:regroup())

  local function newest_of_all(squares, entries)
    return assert(board:update(0, function(values)
      values[0]:set(actor.rank + 1, 1, squares)
      values[0]:set(actor.rank + 1, 2, entries)
      return error_of(values[0])
    end))
  end

  repeat
    for _, column in ipairs(problem:shuffled_columns()) do
      assert(model:update(column, function(factors)
        problem:train(column, factors[column])
        return true
      end))
    end
  until problem:epoch_ends(newest_of_all)
  return assert(model:unshare())
end

local function train_by_events(problem)
  local model, board, ended = problem:all_columns(), new_board(), 0
  local on = {}
  function on.change(value) model:get(value.column):add_(value.change) end
  function on.epoch(value, rank)
    board:set(rank + 1, 1, value.squares)
    board:set(rank + 1, 2, value.entries)
  end
  function on.ended() ended = ended + 1 end

  local function send(name, value) assert(co.send_event(name, value)) end -- to all ranks, including this one
  local function take(event) on[event.name](event.value, event.from) end
  local function take_pending_events()
    for event in function() return co.get_event() end do take(event) end
  end

  local function newest_of_all(squares, entries)
    send("epoch", { squares = squares, entries = entries })
    take_pending_events()
    return error_of(board)
  end

  repeat
    for _, column in ipairs(problem:shuffled_columns()) do
      take_pending_events()
      local before = model:get(column)
      local after = before:clone()
      problem:train(column, after)
      send("change", { column = column, change = after - before })
    end
  until problem:epoch_ends(newest_of_all)
  send("ended")
  while ended < actor.size do take(assert(co.wait_event())) end -- then every rank has all changes
  return model
end

local function train(problem) return (problem.options.events and train_by_events or train_shared)(problem) end

if ... ~= "async" then factorisation.run(train, { events = false }) end -- not when another script requires it
return train
