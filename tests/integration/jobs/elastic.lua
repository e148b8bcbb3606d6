-- The job of elastic_test.cpp.
local actor = require "actor"
local each = require "each_worker"

-- Ends when `workers` workers have done ten tasks each; a late joiner prints when it has begun.
local param = actor.param
local opt = actor.options { workers = 2 }
local mine = 0
actor.on_membership(function(change)
  for _, id in ipairs(change.joined) do print(("worker %d joined, now %d"):format(id, actor.size)) end
  for _, id in ipairs(change.lost) do print(("worker %d lost, now %d"):format(id, actor.size)) end
end)
local summary = param.run {
  schedule = each(function(id) return { { "work", id } } end),
  push = function(ctx)
    mine = mine + 1
    if mine == 1 then actor.log.info("worker %d works.", ctx.id) end
    return { { ctx.id, mine } }
  end,
  stop = function()
    local enough = 0
    for _, id in ipairs(param.keys()) do enough = enough + (param.get(id) >= 10 and 1 or 0) end
    return enough >= opt.workers
  end,
}
print(("ended with %d workers, %d keys"):format(actor.size, #param.keys()))
