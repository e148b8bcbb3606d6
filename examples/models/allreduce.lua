-- Model C, all-reduce: `actorhost -n 4 examples/models/allreduce.lua`. Every rank has all columns and trains them alone
-- for an epoch, without the changes of other ranks (stale). Then the changes of all ranks are combined (synchronised),
-- in one of three ways for models of different sizes.
local actor = require "actor"
local factorisation = require "factorisation"

local ways = {}

-- A small model: one all-reduce of tensors.
function ways.allreduce(changes) return assert(changes:allreduce()) end

-- A larger model: one rank adds up each column, then all ranks get all columns.
function ways.regroup(changes) return assert(assert(changes:regroup()):allgather()) end

-- For ranks that use different columns: each rank gets the columns to which it has contributed.
function ways.push(changes)
  local owners = actor.collective.table()
  assert(changes:push(owners))
  return assert(changes:pull(owners))
end

local function train(problem)
  local add_up = ways[problem.options.way]
  local model = problem:all_columns()
  repeat
    local changes = actor.collective.table { name = "changes" }
    for _, column in ipairs(problem:shuffled_columns()) do
      local before = model:get(column)
      local after = before:clone()
      problem:train(column, after)
      changes:set(column, problem:part_of_mean(before, after))
    end
    for column, change in add_up(changes):pairs() do model:get(column):add_(change) end
  until problem:epoch_ends()
  return model
end

if ... ~= "allreduce" then factorisation.run(train, { way = "allreduce" }) end -- not when another script requires it
return train
