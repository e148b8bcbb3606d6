-- The job of models_test.cpp.
local actor = require "actor"

-- Trains by a model, with a checker around each update: the rank that updates a column holds a file of the column's
-- name, which only one rank on all nodes can create at a time. Each column also counts its updates: the count that an
-- update reads is the version that it was made from.
local factorisation = require "factorisation"
local name, way = ...
local options = {}
for key, value in pairs(factorisation.defaults) do options[key] = value end
options.way, options.events, options.epochs, options.target = way, way == "events", 5, 0

local met, made, known = 0, 0, {}
local new = factorisation.new
function factorisation.new(...)
  local problem = new(...)
  local train = problem.train
  function problem:train(column, factors)
    local path = "working on " .. column
    local file = io.open(path, "wx")
    if not file then met = met + 1 end
    known[column] = known[column] or {}
    table.insert(known[column], factors:get(self.rank + 1))
    made = made + 1
    train(self, column, factors)
    if file then
      file:close()
      os.remove(path)
    end
  end
  return problem
end

local model = factorisation.solve(require(name), options).model
local total = actor.collective.allreduce(actor.tensor({ met, made }))
print("met at a column: " .. total:get(1))
print("updates made: " .. total:get(2))
-- The number of updates in the final columns, and the number of updates of a column that were made from equal versions.
local kept, same = 0, 0
local all, lists = assert(model:copy():allgather()), actor.collective.allgather(known)
for column, factors in all:pairs() do
  kept = kept + factors:get(options.rank + 1)
  local seen = {}
  for rank = 1, lists.n do
    for _, version in ipairs(lists[rank][column]) do
      same = same + (seen[version] and 1 or 0)
      seen[version] = true
    end
  end
end
print("updates kept: " .. kept)
print("made from the same: " .. same)
