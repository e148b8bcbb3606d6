-- Jobs of checkpoint_test.cpp; the first argument selects the job.
local actor = require "actor"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Every rank adds to a common tensor and to a number of its own; it saves at every third of ten steps.
function jobs.job(...)
  local ranks, last, parts = ...
  local keeper = actor.checkpoint.new { steps = 3, ranks = ranks }
  local state = keeper:load { parts = parts == "parts" }
  if state and parts then
    local text = {}
    for i, each in ipairs(state) do text[i] = ("%d:%d"):format(each.rank, each.own) end
    return print("parts " .. table.concat(text, " "))
  end
  state = state or { step = 0, x = actor.tensor.zeros(4), own = 0, rank = actor.rank }
  local first = state.step
  while state.step < tonumber(last) do
    state.step = state.step + 1
    state.x, state.own = state.x + state.step, state.own + actor.rank * state.step
    keeper:save(state)
  end
  local own = actor.collective.allgather(actor.tensor { state.own })
  print(("from %d to %d: %g, own %s"):format(first, state.step, state.x:sum(), table.concat(own:totable(), " ")))
end

function jobs.state_that_cannot_be_saved_is_error_at(...)
  local keeper = actor.checkpoint.new { steps = 1, name = ... }
  keeper:save { f = print }
end

function jobs.killed_at_any_moment_job_that_saves_all(...)
  local keeper = actor.checkpoint.new { steps = 1, ranks = ... }
  local state = keeper:load() or { step = 0, x = actor.tensor.zeros(20000), y = actor.tensor.zeros(10) }
  assert(state.x:min() == state.step and state.x:max() == state.step and state.y:max() == state.step, "mixed")
  print("from " .. state.step)
  while true do
    local step = state.step + 1
    state = { step = step, x = actor.tensor.full({ 20000 }, step), y = actor.tensor.full({ 10 }, step) }
    keeper:save(state)
    print("saved " .. step)
  end
end

function jobs.iterate_goes_on_from_its_newest_state(...)
  local mr = require "actor.mapreduce"
  local steps, stop_at = tonumber((...)), tonumber((select(2, ...)))
  local merges = 0
  local state, summary = mr.range(1, 100):iterate {
    state = actor.tensor.zeros({ 3 }, { dtype = "float64" }), steps = steps, barrier = "bsp", checkpoint = { steps = 4 },
    step = function(rows, x)
      local sum = 0
      for _, row in ipairs(rows) do sum = sum + row end
      return sum + x:get(1) % 7
    end,
    merge = function(x, parts)
      merges = merges + 1
      if merges == stop_at then
        announce("there")
        await("never")
      end
      local sum = 0
      for _, part in ipairs(parts) do sum = sum + part end
      return x + sum
    end,
  }
  local again = mr.range(1, 10):iterate { state = 0, steps = 2, step = function() return 1 end, merge = function(s) return s + 1 end }
  print(("%d steps: %.0f, %d"):format(summary.steps, state:get(1), again))
end

jobs[(...)](select(2, ...))
